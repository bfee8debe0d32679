/**
 * No answer and no event shows what belongs to another logical cluster: every value names the one
 * it was written in.
 */
import {
  type History,
  keyText,
  type ObjectKey,
  type ObjectState,
  type Violation,
} from "./history.ts";
import { stateText } from "./same-state.ts";

export function isolation(history: History): Violation[] {
  return [...shown(history)]
    .filter(({ key, state, cluster }) => isForeign(key, state, cluster))
    .map(({ key, state, where }) => ({
      guarantee: "isolation",
      message: `${where} shows ${keyText(key)}: ${stateText(state)}`,
      excerpt: [],
    }));
}

function isForeign(key: ObjectKey, { spec, status }: ObjectState, cluster: string): boolean {
  const values = [...Object.values(spec), ...Object.values(status)];
  return (
    (cluster !== "*" && cluster !== key.cluster) ||
    values.some((value) => value.includes("/") && !value.startsWith(`${key.cluster}/`))
  );
}

interface Shown {
  readonly key: ObjectKey;
  readonly state: ObjectState;
  /** The one that was asked. */
  readonly cluster: string;
  readonly where: string;
}

function* shown(history: History): Generator<Shown> {
  for (const { client, key, request, outcome } of history.operations) {
    if (outcome.kind !== "object") continue;
    yield { key, state: outcome.state, cluster: key.cluster, where: `${client} ${request.verb}` };
  }
  for (const { client, key, state } of history.staleGets) {
    yield { key, state, cluster: key.cluster, where: `${client} get` };
  }
  for (const { client, scope, items } of history.lists) {
    for (const item of items) yield { ...item, cluster: scope.cluster, where: `${client} list` };
  }
  for (const { watcher, scope, initial, events } of history.watches) {
    const more = { cluster: scope.cluster, where: `watch ${watcher}` };
    for (const item of initial?.items ?? []) yield { ...item, ...more };
    for (const event of events) {
      if (event.type !== "BOOKMARK") yield { key: event.key, state: event.state, ...more };
    }
  }
}
