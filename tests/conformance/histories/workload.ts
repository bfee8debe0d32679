/**
 * What a client of a history does, drawn from its seed: a few keys, all verbs, all ways to list.
 */
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import {
  type KeyRequest,
  keyText,
  type ListMode,
  type ObjectKey,
  type Scope,
  type SeededRandom,
  type Texts,
} from "@kcp-ts/testkit";
import type { Connection } from "./connection.ts";
import type { Recorder } from "./recorder.ts";

export interface WorkloadOptions {
  readonly client: string;
  readonly recorder: Recorder;
  readonly connections: readonly Connection[];
  readonly random: SeededRandom;
  readonly keys: readonly ObjectKey[];
  readonly historyName: string;
  /** What every client has seen last of each key. */
  readonly lastSeen: Map<string, LastSeen>;
}

export interface LastSeen {
  readonly uid: string;
  readonly revision: number;
}

const operationsMin = 8;
const operationsMax = 22;

type Action = (
  options: WorkloadOptions,
  key: ObjectKey,
  fresh: UniqueContent,
) => KeyRequest | undefined;

/** A value that is written once, and labels to go with it. */
interface UniqueContent {
  readonly spec: Texts;
  readonly labels: Texts;
  readonly value: string;
}

const actions: readonly (readonly [weight: number, Action])[] = [
  [20, () => ({ verb: "get" })],
  [14, (_, __, { spec, labels }) => ({ verb: "create", spec, labels })],
  [
    14,
    (options, key, { spec, labels }) =>
      withRevision(options, key, { verb: "update", spec, labels }),
  ],
  [
    8,
    ({ recorder }, _, { spec, labels }) =>
      recorder.kind.updatesUnconditionally ? { verb: "update", spec, labels } : undefined,
  ],
  [8, (_, __, { value, labels }) => ({ verb: "patch", spec: { patched: value }, labels })],
  [
    5,
    (options, key, { value, labels }) =>
      withRevision(options, key, { verb: "patch", spec: { patched: value }, labels }),
  ],
  [7, (_, __, { value }) => ({ verb: "apply", spec: { applied: value }, labels: {} })],
  [
    6,
    ({ recorder }, _, { value }) =>
      recorder.kind.hasStatus ? { verb: "patchStatus", status: { seen: value } } : undefined,
  ],
  [7, () => ({ verb: "delete" })],
  [4, (options, key) => withRevision(options, key, { verb: "delete" })],
  [
    4,
    ({ lastSeen }, key) => {
      const seen = lastSeen.get(keyText(key));
      return seen === undefined ? undefined : { verb: "delete", expectedUid: seen.uid };
    },
  ],
];

function withRevision(
  { lastSeen }: WorkloadOptions,
  key: ObjectKey,
  request: Extract<KeyRequest, { verb: "update" | "patch" | "delete" }>,
): KeyRequest | undefined {
  const seen = lastSeen.get(keyText(key));
  return seen === undefined ? undefined : { ...request, expectedRevision: seen.revision };
}

/** Until the fault is over, and a little longer; not for ever. */
export async function runClient(options: WorkloadOptions, isOver: () => boolean): Promise<void> {
  const { random, client, keys, connections } = options;
  for (let done = 0; done < operationsMax && (done < operationsMin || !isOver()); ) {
    const key = keys[random.integer(keys.length)] as ObjectKey;
    const connection = connections[random.integer(connections.length)] as Connection;
    const didHappen = random.chance(0.2)
      ? await read(options, connection, key)
      : await act(options, connection, key, `${key.cluster}/${client}.${done}`);
    if (didHappen) done++;
    await sleep(systemClock, didHappen ? random.integer(25) : 40);
  }
}

async function act(
  options: WorkloadOptions,
  connection: Connection,
  key: ObjectKey,
  value: string,
): Promise<boolean> {
  const { recorder, client, lastSeen, random } = options;
  const request = chosen(options, key, freshContent(options, value));
  if (request === undefined) return random.chance(0.5);
  const outcome = await recorder.perform(connection, client, key, request);
  if (outcome?.kind === "object") lastSeen.set(keyText(key), outcome.state);
  return outcome !== undefined;
}

function freshContent(
  { recorder, random, historyName }: WorkloadOptions,
  value: string,
): UniqueContent {
  const color = random.pick(["red", "tan"]);
  const isSelectable = recorder.kind.hasStatus;
  return {
    value,
    spec: { value, ...(isSelectable ? { color } : {}) },
    labels: { history: historyName, color },
  };
}

function chosen(
  options: WorkloadOptions,
  key: ObjectKey,
  fresh: UniqueContent,
): KeyRequest | undefined {
  const total = actions.reduce((sum, [weight]) => sum + weight, 0);
  let dice = options.random.integer(total);
  for (const [weight, action] of actions) {
    if (dice < weight) return action(options, key, fresh);
    dice -= weight;
  }
  return undefined;
}

/** Lists in every mode, and gets that may be old. */
async function read(
  { recorder, random, client, lastSeen }: WorkloadOptions,
  connection: Connection,
  key: ObjectKey,
): Promise<boolean> {
  if (random.chance(0.2)) {
    await recorder.staleGet(connection, client, key);
    return true;
  }
  const { cluster, namespace } = key;
  const revision = lastSeen.get(keyText(key))?.revision ?? recorder.startRevision;
  const mode: ListMode = random.pick([
    { kind: "quorum" },
    { kind: "quorum" },
    { kind: "any" },
    { kind: "notOlderThan", revision },
    { kind: "exact", revision },
  ]);
  const scope = randomScope(random, { cluster, namespace }, recorder);
  const limit = random.chance(0.4) ? 1 : 0;
  await recorder.list(connection, client, scope, { mode, limit });
  return true;
}

function randomScope(random: SeededRandom, scope: Scope, recorder: Recorder): Scope {
  const dice = random.integer(10);
  if (dice < 6) return scope;
  if (dice < 8) return { ...scope, label: ["color", "red"] };
  return recorder.kind.hasStatus ? { ...scope, field: ["spec.color", "red"] } : scope;
}
