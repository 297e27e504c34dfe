"""Random 4 KiB reads on 4 channels of 4 dies, by nothing but dies and channels: the order on the channel decides.

data first:      data that wait for the channel go before commands (MQSim)
commands first:  commands go before data
passing:         commands first, and they do not wait for a transfer under way (ssdlab)
"""

import heapq
import itertools
import random

CHANNELS, WAYS = 4, 4
COMMAND, READ, TRANSFER = 290, 50_000, 12_300  # ns


def reads_per_second(order: str, depth: int, reads: int = 300_000) -> float:
    draw = random.Random(1)
    dies = CHANNELS * WAYS
    waiting, free = [0] * dies, [True] * dies  # commands for a die; whether it can take one
    turn = [0] * CHANNELS  # the die of a channel that is looked at first
    done: list[list[int]] = [[] for _ in range(CHANNELS)]  # dies with data, in their order
    taken = [False] * CHANNELS
    events: list[tuple[int, int, str, int]] = []
    now = ended = 0
    count = itertools.count()

    def at(time: int, what: str, die: int) -> None:
        heapq.heappush(events, (time, next(count), what, die))

    def command(channel: int) -> bool:
        for way in range(WAYS):
            die = channel + CHANNELS * ((turn[channel] + way) % WAYS)
            if free[die] and waiting[die]:
                turn[channel] = (turn[channel] + way + 1) % WAYS
                waiting[die] -= 1
                free[die] = False
                if order == "passing":
                    at(now + COMMAND + READ, "read", die)
                else:
                    taken[channel] = True
                    at(now + COMMAND, "command", die)
                return True
        return False

    def data(channel: int) -> bool:
        if done[channel]:
            taken[channel] = True
            at(now + TRANSFER, "transfer", done[channel].pop(0))
            return True
        return False

    def serve(channel: int) -> None:
        while order == "passing" and command(channel):
            pass
        if not taken[channel]:
            first, then = (data, command) if order == "data first" else (command, data)
            _ = first(channel) or then(channel)

    for _ in range(depth):
        waiting[draw.randrange(dies)] += 1
    for channel in range(CHANNELS):
        serve(channel)
    while ended < reads:
        now, _, what, die = heapq.heappop(events)
        channel = die % CHANNELS
        if what == "command":
            taken[channel] = False
            at(now + READ, "read", die)
        elif what == "read":
            done[channel].append(die)
        else:
            taken[channel], free[die] = False, True
            ended += 1
            serve(channel)  # before the host's next command comes
            other = draw.randrange(dies)
            waiting[other] += 1
            serve(other % CHANNELS)
        serve(channel)
    return ended / now * 1e9


if __name__ == "__main__":
    for order in ("data first", "commands first", "passing"):
        print(f"{order:15}", *(f"{reads_per_second(order, depth):9,.0f}" for depth in (4, 16, 32, 64)))
