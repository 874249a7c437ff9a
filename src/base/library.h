/* What became of the shared libraries that were asked for. */
#ifndef JF_LIBRARY_H
#define JF_LIBRARY_H

/* Why the i-th library that was asked for could not be opened, with its name; NULL past the last.
   What it does best is done by slower kernels then, and the last digits of results may differ. */
const char *jf_library_missing(int i);
/* Notes a library among those, and why it cannot be used. */
void jf_library_lacks(const char *name, const char *why);

#endif
