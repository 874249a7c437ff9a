/* Regular expressions of names. */
#ifndef JF_REGEX_H
#define JF_REGEX_H

/* Whether the expression matches a part of the text; -1: it cannot be read, *wrong says why. They
   are POSIX's extended ones, over bytes, without {n,m}, back references and classes such as
   [:alpha:]. The time that it takes grows with the product of both lengths, whatever they hold. */
int jf_regex_matches(const char *expression, const char *text, const char **wrong);

#endif
