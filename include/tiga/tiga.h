/* Tiga's public C interface: differentiable message passing, compiled.
 *
 * Everything a program needs is declared here; the builder for programs that write programs is
 * tiga_ops.h. Compiles as C17 and as C++. */
#ifndef TIGA_H
#define TIGA_H

#define TG_VERSION_MAJOR 0
#define TG_VERSION_MINOR 1
#define TG_VERSION_PATCH 0
#define TG_VERSION "0.1.0"

#if defined __GNUC__
#define TG_API __attribute__((visibility("default")))
#else
#define TG_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library that is running; TG_VERSION is that of the header compiled against. */
TG_API const char *tg_version(void);

#ifdef __cplusplus
}
#endif
#endif
