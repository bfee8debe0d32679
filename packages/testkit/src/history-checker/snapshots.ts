/**
 * Lists, and the initial events of watches, are the state at their revision: nothing newer, nothing
 * older, nothing of half a change; and the revision is one that the request may be answered with.
 */
import type { ChangeLog } from "./change-log.ts";
import {
  type History,
  keyText,
  type ListMode,
  type ListRecord,
  type Violation,
} from "./history.ts";
import { sameState, stateText } from "./same-state.ts";
import { inScope, scopeText, selects } from "./scope.ts";

export function snapshots(history: History, log: ChangeLog): Violation[] {
  return snapshotsOf(history).flatMap((list) => [
    ...modeErrors(list),
    ...pageErrors(list),
    ...freshnessErrors(list, history),
    ...contentErrors(list, log),
  ]);
}

/** Lists, and what watches begin with. */
export function snapshotsOf({ lists, watches }: History): ListRecord[] {
  const initial = watches.flatMap(({ watcher, scope, start, initial: begun, openedAt }) =>
    begun === undefined || start.kind !== "initial"
      ? []
      : [
          {
            client: `watch ${watcher}`,
            scope,
            mode: start.mode,
            invokedAt: openedAt,
            returnedAt: begun.at,
            revision: begun.revision,
            pageRevisions: [],
            items: begun.items,
          },
        ],
  );
  return [...lists, ...initial];
}

function modeErrors(list: ListRecord): Violation[] {
  const { mode, revision } = list;
  const isAllowed =
    mode.kind === "exact"
      ? revision === mode.revision
      : mode.kind === "notOlderThan"
        ? revision >= mode.revision
        : true;
  return isAllowed ? [] : [violation(list, `the list is of revision ${revision}`)];
}

function pageErrors(list: ListRecord): Violation[] {
  const other = list.pageRevisions.find((revision) => revision !== list.revision);
  const names = list.items.map(({ key }) => keyText(key));
  const isTwice = new Set(names).size < names.length;
  return [
    ...(other === undefined ? [] : [violation(list, `a page is of revision ${other}`)]),
    ...(isTwice ? [violation(list, `an object is listed twice: ${names.join(", ")}`)] : []),
  ];
}

/** Acknowledged writes are seen by a quorum list, and none by a list that ended before them. */
function freshnessErrors(list: ListRecord, { operations }: History): Violation[] {
  return operations.flatMap(({ client, key, request, outcome, invokedAt, returnedAt }) => {
    if (outcome.kind !== "object" || request.verb === "get" || !inScope(list.scope, key)) return [];
    const { revision } = outcome.state;
    const what = `${client} ${request.verb} ${keyText(key)} rv=${revision}`;
    if (list.mode.kind === "quorum" && returnedAt < list.invokedAt && revision > list.revision) {
      return [
        violation(list, `revision ${list.revision} is stale`, [`acknowledged before: ${what}`]),
      ];
    }
    return invokedAt > list.returnedAt && revision <= list.revision
      ? [violation(list, `revision ${list.revision} is of the future`, [`begun later: ${what}`])]
      : [];
  });
}

function contentErrors(list: ListRecord, log: ChangeLog): Violation[] {
  const { scope, revision, items } = list;
  const found: Violation[] = [];
  const listed = new Map(items.map(({ key, state }) => [keyText(key), state]));
  for (const { key, state } of items) {
    if (state.revision > revision) {
      found.push(violation(list, `${keyText(key)} is newer: ${stateText(state)}`));
    }
    if (!selects(scope, key, state)) {
      found.push(violation(list, `${keyText(key)} is not selected: ${stateText(state)}`));
    }
  }
  for (const key of log.keys()) {
    const last = log.last(key, revision);
    if (last === undefined || !inScope(scope, last.key)) continue;
    const item = listed.get(key);
    const isThere = last.kind === "put" && selects(scope, last.key, last.state);
    if (item === undefined) {
      // No deletion can have gone unseen.
      if (isThere && log.coversSince(last.key, last, revision)) {
        found.push(
          violation(list, `${key} is missing`, [`${last.source}: ${stateText(last.state)}`]),
        );
      }
    } else if (!isThere || !sameState(item, last.state)) {
      const known = `${last.source}: ${last.kind} ${stateText(last.state)}`;
      found.push(violation(list, `${key} is another: ${stateText(item)}`, [known]));
    }
  }
  return found;
}

function violation(list: ListRecord, message: string, excerpt: readonly string[] = []): Violation {
  const { client, scope, mode, revision } = list;
  return {
    guarantee: "snapshot",
    message: `${client}: ${modeText(mode)} list of ${scopeText(scope)} at ${revision}: ${message}`,
    excerpt,
  };
}

function modeText(mode: ListMode): string {
  return "revision" in mode ? `${mode.kind} ${mode.revision}` : mode.kind;
}
