/**
 * Each key of a history is a Kubernetes object that could have been used by one client after the
 * other.
 */
import type { ChangeLog } from "./change-log.ts";
import { type History, keyText, type Operation, type Outcome, type Violation } from "./history.ts";
import { linearize } from "./linearizability.ts";
import { objectModel } from "./object-model.ts";
import { stateText } from "./same-state.ts";
import { inScope, isUnfiltered } from "./scope.ts";
import { snapshotsOf } from "./snapshots.ts";

export function linearizableKeys(history: History, log: ChangeLog): Violation[] {
  const byKey = new Map<string, Operation[]>();
  for (const operation of [...history.operations, ...readsOf(history)]) {
    const key = keyText(operation.key);
    const operations = byKey.get(key) ?? [];
    byKey.set(key, operations);
    operations.push(operation);
  }
  return [...byKey].flatMap(([key, operations]) => checkKey(key, relevant(operations, log)));
}

/** A quorum list is a get of every key at once. */
function readsOf(history: History): Operation[] {
  const keys = new Map(history.operations.map(({ key }) => [keyText(key), key]));
  return snapshotsOf(history).flatMap((list) => {
    const { client, scope, mode, items, invokedAt, returnedAt } = list;
    if (mode.kind !== "quorum") return [];
    const listed = new Map(items.map(({ key, state }) => [keyText(key), state]));
    return [...keys].flatMap(([name, key]): Operation[] => {
      const state = listed.get(name);
      // What a selector leaves out may be there.
      if (!inScope(scope, key) || (state === undefined && !isUnfiltered(scope))) return [];
      const outcome: Outcome =
        state === undefined ? { kind: "notFound" } : { kind: "object", state };
      return [
        {
          client: `${client} (list)`,
          key,
          request: { verb: "get" },
          invokedAt,
          returnedAt,
          outcome,
        },
      ];
    });
  });
}

function checkKey(key: string, operations: readonly Operation[]): Violation[] {
  const result = linearize(operations, objectModel);
  if (result.kind === "linearizable") return [];
  if (result.kind === "undecided") {
    const message = `${key}: no order was found in the time given`;
    return [{ guarantee: "linearizable", message, excerpt: operations.map(operationText) }];
  }
  const { object } = result.state;
  const known = object === undefined ? "absent" : JSON.stringify(object);
  return [
    {
      guarantee: "linearizable",
      message: `${key}: no order of its operations explains their answers`,
      excerpt: [
        ...result.order.slice(-6).map(operationText),
        `then the object is ${known}, and none of these can follow:`,
        ...result.stuck.map(operationText),
      ],
    },
  ];
}

/**
 * Reads without an answer say nothing; nor do writes whose value is nowhere, if nothing can have
 * gone unseen.
 */
function relevant(operations: readonly Operation[], log: ChangeLog): readonly Operation[] {
  return operations.filter((operation) => {
    const { outcome, request, key } = operation;
    if (outcome.kind !== "open") return true;
    if (request.verb === "get") return false;
    if (request.verb === "delete") return true;
    const changes = log.changesOfKey(keyText(key));
    if (!log.coversAll(key)) return true;
    const written = Object.entries(
      request.verb === "patchStatus" ? request.status : request.spec,
    ).filter(([, value]) => value.includes("/"));
    return changes.some(({ state }) => {
      const texts = request.verb === "patchStatus" ? state.status : state.spec;
      return written.some(([name, value]) => texts[name] === value);
    });
  });
}

export function operationText(operation: Operation): string {
  const { client, key, request, invokedAt, returnedAt, outcome } = operation;
  const { verb, ...details } = request;
  const end = returnedAt === Number.POSITIVE_INFINITY ? "…" : returnedAt.toFixed(1);
  const answer =
    outcome.kind === "object"
      ? stateText(outcome.state)
      : outcome.kind === "open"
        ? `open (${outcome.reason})`
        : outcome.kind;
  return `${invokedAt.toFixed(1)}..${end} ms ${client} ${verb} ${keyText(key)} ${JSON.stringify(details)} -> ${answer}`;
}
