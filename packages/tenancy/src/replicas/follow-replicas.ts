/** Listens to the replicas of a kind, as if the originals were stored here. */
import type { ResourceDefinition } from "@kcp-ts/apiserver/registry";
import type { HubEvent, WatchHub } from "@kcp-ts/apiserver/watch-cache";
import { asOriginal, originalKey, replicaPrefix } from "./replica-key.ts";

export type ReplicaEvent = Pick<HubEvent, "key" | "current" | "previous">;

export function followReplicas(
  hub: WatchHub,
  definition: ResourceDefinition,
  onEvent: (event: ReplicaEvent) => void,
  onLost: () => void = () => {},
): void {
  const here = (entry: HubEvent["current"]) => entry && asOriginal(definition, entry);
  hub.listen(replicaPrefix(definition), {
    onEvent: ({ key, current, previous }) =>
      onEvent({
        key: originalKey(definition, key),
        current: here(current),
        previous: here(previous),
      }),
    onLost: ({ code }) => {
      if (code === "closed") return;
      followReplicas(hub, definition, onEvent, onLost);
      onLost();
    },
  });
}
