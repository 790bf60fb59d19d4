-- Counts one event in all of the windows, or in none when one of them is full; or adds what was counted elsewhere.
-- KEYS[1]: a sorted set of the events, scored by their microsecond.
-- ARGV: what to do, and until when by Redis's clock, in microseconds: a request that arrives later does nothing, as
-- its sender has gone on without the answer. It is answered with the time and -1.
-- To look ("0") and to count ("1"): the event's name, then limit and length in microseconds of each window.
-- Answers: the time, 1 or 0, then for each window the microseconds until it takes another event
-- (0 when it does now), the events in it, and the microseconds until the first of them leaves.
-- To add ("2"): the microseconds that events are kept, then name and age in microseconds of each event; one that
-- has a "-" for its age was not allowed, and is taken out. An event that is there stays as it is.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local function text(n) return string.format('%.0f', n) end

if now > tonumber(ARGV[2]) then return {now, -1} end
if ARGV[1] == '2' then
  for i = 4, #ARGV, 2 do
    if ARGV[i + 1] == '-' then
      redis.call('ZREM', KEYS[1], ARGV[i])
    else
      redis.call('ZADD', KEYS[1], 'NX', text(now - tonumber(ARGV[i + 1])), ARGV[i])
    end
  end
  local left = math.ceil(tonumber(ARGV[3]) / 1000) + 1000
  if redis.call('PTTL', KEYS[1]) < left then redis.call('PEXPIRE', KEYS[1], left) end
  return {now, 1}
end

local longest, allowed, waits = 0, 1, {}
for i = 4, #ARGV, 2 do
  local limit, length = tonumber(ARGV[i]), tonumber(ARGV[i + 1])
  longest = math.max(longest, length)
  local after = '(' .. text(now - length)
  local used, wait = redis.call('ZCOUNT', KEYS[1], after, '+inf'), 0
  if used >= limit then
    local leaving = redis.call('ZRANGEBYSCORE', KEYS[1], after, '+inf', 'WITHSCORES', 'LIMIT', used - limit, 1)
    allowed, wait = 0, math.max(1, tonumber(leaving[2]) + length - now)
  end
  waits[#waits + 1] = wait
end
if allowed == 1 and ARGV[1] == '1' then
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', text(now - longest))
  redis.call('ZADD', KEYS[1], text(now), ARGV[3])
  redis.call('PEXPIRE', KEYS[1], math.ceil(longest / 1000) + 1000)
end
local answer = {now, allowed}
for i = 4, #ARGV, 2 do
  local length = tonumber(ARGV[i + 1])
  local after = '(' .. text(now - length)
  local first, reset = redis.call('ZRANGEBYSCORE', KEYS[1], after, '+inf', 'WITHSCORES', 'LIMIT', 0, 1), 0
  if first[2] then reset = tonumber(first[2]) + length - now end
  answer[#answer + 1] = waits[i / 2 - 1]
  answer[#answer + 1] = redis.call('ZCOUNT', KEYS[1], after, '+inf')
  answer[#answer + 1] = reset
end
return answer
