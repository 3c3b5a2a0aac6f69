/* Remarks and warnings: what a user may want to know and no result says. They go to one function of the
 * user's, or nowhere. */
#ifndef TIGA_BASE_LOG_H
#define TIGA_BASE_LOG_H

/* ORDER LOG: the values are those of tg_severity in tiga.h. */
typedef enum { LOG_REMARK, LOG_WARNING } LogLevel;
typedef void LogSink(void *ctx, int level, const char *text);

/* sink is called in the thread that has something to say, several at once; NULL turns it off. */
void log_set(LogSink *sink, void *ctx);
/* Formats a line without its end; costs a load where nobody listens. Holds no lock, never allocates. */
void log_put(LogLevel level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
