# device.awk: of a source in kernels/cuda what the GPU's compiler needs: neither comments nor the
# half that is C for the host.
/^#ifndef JF_DEVICE/ { skip = 1 }
skip { if (/^#endif/) skip = 0; next }
/^#ifdef JF_DEVICE/ { next }
/^#else/ { exit }
/^[ \t]*\/\*/ { comment = 1 }
comment { if (/\*\//) comment = 0; next }
/^$/ { next }
{ print }
