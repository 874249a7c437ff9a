#!/bin/sh
# texts.sh FILE... : C source that holds the files as strings. kernels/cuda/softmax.cu becomes
# jf_cuda_text_softmax, and what ends in .cuh jf_cuda_NAME. The build has put what devices need of
# them in build/gen/cuda.
printf '%s\n' '/* The source of the kernels of GPUs. Generated from kernels/cuda. */' \
  '#include "system/embed.h"'
for f; do
  name=${f##*/}
  case $name in
    *.cuh) symbol=jf_cuda_${name%.cuh} ;;
    *) symbol=jf_cuda_text_${name%.cu} ;;
  esac
  [ -e "$f" ] || continue
  printf '\nextern const char %s[];\n' "$symbol"
  printf '__asm__(JF_EMBED_BEGIN JF_EMBED_SHARE("%s") "%s:\\n"\n' "$symbol" "$symbol"
  printf '        ".incbin \\"build/gen/cuda/%s\\"\\n.byte 0\\n" JF_EMBED_END);\n' "$name"
done
