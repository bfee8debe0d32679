/** For soak tests: one random fault or change of a server's objects or of its watches. */
import type { SeededRandom } from "@kcp-ts/testkit";
import type { FakeApiServer } from "../fake-server/index.ts";

export function injectRandomFault(
  server: FakeApiServer,
  random: SeededRandom,
  resource: string,
): void {
  const key = {
    resource,
    cluster: random.pick(["root", "root", "one", "two"]),
    namespace: random.pick(["a", "b"]),
    name: `n${random.integer(8)}`,
  };
  const dice = random.integer(100);
  if (dice < 45) server.put(key, { size: random.integer(1000) });
  else if (dice < 65) server.remove(key);
  else if (dice < 70) server.store.tick();
  else if (dice < 75) server.sendBookmarks();
  else if (dice < 80) server.store.compact();
  else if (dice < 84) server.breakWatches();
  else if (dice < 88) server.endWatches();
  else if (dice < 90) server.stallWatches();
  else if (dice < 92) server.stallNextWatch();
  else if (dice < 95) server.restart(random.integer(5000));
  else if (dice < 97) server.throttle(1 + random.integer(3), random.integer(4));
  else if (dice < 98) server.hang(1);
  else server.watchList = !server.watchList;
}
