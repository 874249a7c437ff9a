-- Methods of NdArrays that only scripts of the original call.
return {
  --- The array itself: the original's results were asked for their arrays by this name.
  numpy = function(a) return a end,
}
