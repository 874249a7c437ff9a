/* How the assembler is told to put a file's bytes among what a program only reads. */
#ifndef JF_EMBED_SYSTEM_H
#define JF_EMBED_SYSTEM_H

#ifdef _WIN32
#define JF_EMBED_BEGIN ".section .rdata,\"dr\"\n"
#define JF_EMBED_END ".text\n"
#define JF_EMBED_SHARE(name) ".globl " name "\n"
#else
#define JF_EMBED_BEGIN ".section .rodata\n"
#define JF_EMBED_END ".previous\n"
#define JF_EMBED_SHARE(name) ".globl " name "\n.hidden " name "\n"
#endif

#endif
