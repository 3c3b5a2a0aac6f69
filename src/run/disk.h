/* Compiled code on disk: one file a variant, in TIGA_CACHE_DIR, else tiga in the XDG cache folder.
 *
 * A file is written under another name and renamed, so readers see whole files or none, whoever
 * writes at the same time. It is read only where it and its folder are this user's and writable by
 * nobody else, and used only where its hash and its whole key agree. Whatever is wrong with the
 * folder or a file, nothing fails: the code is compiled again. TIGA_OFF=cache leaves the disk alone. */
#ifndef TIGA_RUN_DISK_H
#define TIGA_RUN_DISK_H

#include "run/key.h"

/* stamp: of the generator (codegen_stamp); code of another generator is not taken, 0 takes any.
 * On true out->bytes is malloc'ed, the caller frees. */
bool disk_load(const Key *key, uint64_t stamp, Image *out);
/* False where nothing was stored. */
bool disk_store(const Key *key, uint64_t stamp, const Image *image);
/* The folder, or "" where there is none. */
const char *disk_folder(void);

/* Tests: another folder from now on; NULL goes back. Not while others load. */
void disk_use_folder(const char *path);

#endif
