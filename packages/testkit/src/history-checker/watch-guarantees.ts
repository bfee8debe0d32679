/**
 * etcd's guarantees of a watch, each with a check of its own: a stream against itself, and against
 * all known changes.
 *
 * Two of etcd's guarantees are elsewhere: `atomic` is part of the change log, which has one change
 * per revision.
 */
import { type ChangeLog, type KnownChange, startOf } from "./change-log.ts";
import { expectedEvent } from "./expected-event.ts";
import {
  type History,
  keyText,
  revisionOf,
  type Violation,
  type WatchEvent,
  type WatchSegment,
} from "./history.ts";
import { sameContent, stateText } from "./same-state.ts";
import { scopeText, selects } from "./scope.ts";

export type WatchCheck = (history: History, log: ChangeLog) => Violation[];

/** Ordered: revisions only grow. */
export const ordered: WatchCheck = ({ watches }) =>
  watches.flatMap((segment) => {
    let last = startOf(segment) ?? 0;
    const found: Violation[] = [];
    for (const event of segment.events) {
      const revision = revisionOf(event);
      // A bookmark may say again where the stream is.
      const isLater = event.type === "BOOKMARK" ? revision >= last : revision > last;
      if (!isLater) {
        found.push(
          violation("ordered", segment, `revision ${revision} comes after ${last}`, [event]),
        );
      }
      last = Math.max(last, revision);
    }
    return found;
  });

/** Unique: a watcher receives a change once, however often it reconnects. */
export const unique: WatchCheck = ({ watches }) => {
  const heard = new Set<string>();
  return watches.flatMap((segment) =>
    segment.events.flatMap((event) => {
      if (event.type === "BOOKMARK" || startOf(segment) === undefined) return [];
      const id = `${segment.watcher} ${event.state.revision} ${keyText(event.key)}`;
      if (!heard.has(id)) {
        heard.add(id);
        return [];
      }
      return [violation("unique", segment, `revision ${event.state.revision} twice`, [event])];
    }),
  );
};

/**
 * Reliable: no change between two events of a stream is missing. Resumable: nor between the end of
 * a stream and its continuation.
 */
export const reliable: WatchCheck = ({ watches }, log) =>
  watches.flatMap((segment) => {
    const from = startOf(segment);
    const last = segment.events.findLast(({ type }) => type !== "BOOKMARK");
    if (from === undefined || last === undefined) return [];
    const told = new Set(segment.events.map(revisionOf));
    const first = revisionOf(segment.events[0] as WatchEvent);
    const isResumed = segment.start.kind === "after" && segment.start.isResumed;
    return missing(segment, log, from, revisionOf(last), told).map((change) =>
      violation(
        isResumed && change.revision < first ? "resumable" : "reliable",
        segment,
        `nothing is said of ${changeText(change)}`,
        segment.events.slice(0, 5),
      ),
    );
  });

/** Bookmarkable: all changes up to a bookmark are delivered before it, and none of them later. */
export const bookmarkable: WatchCheck = ({ watches }, log) =>
  watches.flatMap((segment) => {
    const from = startOf(segment);
    if (from === undefined) return [];
    return segment.events.flatMap((bookmark, index) => {
      if (bookmark.type !== "BOOKMARK") return [];
      const told = new Set(segment.events.slice(0, index).map(revisionOf));
      const early = missing(segment, log, from, bookmark.revision, told).map((change) =>
        violation(
          "bookmarkable",
          segment,
          `a bookmark at ${bookmark.revision} comes before ${changeText(change)}`,
          segment.events.slice(Math.max(0, index - 3), index + 1),
        ),
      );
      const late = segment.events
        .slice(index + 1)
        .filter((event) => event.type !== "BOOKMARK" && revisionOf(event) <= bookmark.revision)
        .map((event) =>
          violation("bookmarkable", segment, `an event behind its bookmark`, [bookmark, event]),
        );
      return [...early, ...late];
    });
  });

/** Previous value: a DELETED event carries the object as it was last seen in the selection. */
export const previousValue: WatchCheck = (history, log) =>
  compared(history, log, (segment, event, expected) => {
    if (expected.type !== "DELETED" || event.type !== "DELETED") return [];
    if (sameContent(expected.previous, event.state)) return [];
    const told = violation("previous value", segment, "DELETED with another state", [event]);
    return [{ ...told, excerpt: [...told.excerpt, `before: ${stateText(expected.previous)}`] }];
  });

/** Is-create: ADDED for what was not there, MODIFIED for what was. */
export const isCreate: WatchCheck = (history, log) =>
  compared(history, log, (segment, event, expected) => {
    if (expected.type === "unsure" || expected.type === "none") return [];
    if (expected.type === event.type) return [];
    return [violation("is-create", segment, `${event.type} should be ${expected.type}`, [event])];
  });

/**
 * Filtered: objects that are not selected have no events, and an object that leaves the selection
 * is DELETED.
 */
export const filtered: WatchCheck = (history, log) => [
  ...history.watches.flatMap((segment) =>
    [...objectsOf(segment)]
      .filter(({ key, state }) => !selects(segment.scope, key, state))
      .map(({ key, state }) =>
        violation(
          "filtered",
          segment,
          `${keyText(key)} ${stateText(state)} is not in ${scopeText(segment.scope)}`,
          [],
        ),
      ),
  ),
  ...compared(history, log, (segment, event, expected) =>
    expected.type === "none"
      ? [violation("filtered", segment, "the change does not concern this watch", [event])]
      : [],
  ),
];

/** Everything that a segment shows as selected; a DELETED shows what was. */
function* objectsOf({ initial, events }: WatchSegment) {
  yield* initial?.items ?? [];
  for (const event of events) if (event.type !== "BOOKMARK") yield event;
}

type Judge = (
  segment: WatchSegment,
  event: Exclude<WatchEvent, { type: "BOOKMARK" }>,
  expected: ReturnType<typeof expectedEvent>,
) => Violation[];

/** Each event with its expected one; events of changes that no other response shows are skipped. */
function compared({ watches }: History, log: ChangeLog, judge: Judge): Violation[] {
  return watches.flatMap((segment) =>
    segment.events.flatMap((event) => {
      if (event.type === "BOOKMARK") return [];
      const change = log.at(event.state.revision);
      if (change === undefined || keyText(change.key) !== keyText(event.key)) return [];
      return judge(segment, event, expectedEvent(log, segment.scope, change));
    }),
  );
}

function missing(
  { scope }: WatchSegment,
  log: ChangeLog,
  after: number,
  upTo: number,
  told: ReadonlySet<number>,
): KnownChange[] {
  return log.changes().filter((change) => {
    if (change.revision <= after || change.revision > upTo || told.has(change.revision))
      return false;
    const { type } = expectedEvent(log, scope, change);
    if (type === "none") return false;
    // Who selects nothing away hears of every change; what came before it does not matter.
    if (type !== "unsure") return true;
    return change.kind === "put" && selects(scope, change.key, change.state);
  });
}

function changeText({ kind, key, state, source }: KnownChange): string {
  return `${kind} ${keyText(key)} ${stateText(state)}, which ${source} knows of`;
}

export function violation(
  guarantee: string,
  segment: WatchSegment,
  message: string,
  events: readonly WatchEvent[],
): Violation {
  const { watcher, scope, start } = segment;
  const began = start.kind === "after" ? `after ${start.revision}` : `initial ${start.mode.kind}`;
  return {
    guarantee,
    message: `watch ${watcher} of ${scopeText(scope)} (${began}): ${message}`,
    excerpt: events.map(eventText),
  };
}

export function eventText(event: WatchEvent): string {
  return event.type === "BOOKMARK"
    ? `BOOKMARK rv=${event.revision}`
    : `${event.type} ${keyText(event.key)} ${stateText(event.state)}`;
}
