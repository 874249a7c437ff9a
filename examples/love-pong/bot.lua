-- Plays the left paddle where nobody does: it sees all, and now and then reaches too far aside.
local court = require "court"

return function(game)
  if game.ball.dx > 0 then return court.HEIGHT / 2 end
  local off = math.sin(7.3 * (game.points.left + game.points.right + game.rally))
  return game.ball.y + court.REACH * 1.1 * off
end
