import type { ChangeLog, KnownChange } from "./change-log.ts";
import { keyText, type ObjectState, type Scope } from "./history.ts";
import { inScope, selects } from "./scope.ts";

export type Expectation =
  | { readonly type: "ADDED" | "MODIFIED" }
  | { readonly type: "DELETED"; readonly previous: ObjectState }
  | { readonly type: "none" }
  /** What was before is not known well enough. */
  | { readonly type: "unsure" };

/** What a watch of this scope must say of a change. */
export function expectedEvent(log: ChangeLog, scope: Scope, change: KnownChange): Expectation {
  const { key, revision, kind, state } = change;
  if (!inScope(scope, key)) return { type: "none" };
  const isSelected = kind === "put" && selects(scope, key, state);
  const before = log.last(keyText(key), revision - 1);
  // Nothing may have gone unseen between the two.
  const isSure = log.coversSince(key, before, revision);
  if (!isSure) return { type: "unsure" };
  const wasSelected =
    before !== undefined && before.kind === "put" && selects(scope, key, before.state);
  if (isSelected) return { type: wasSelected ? "MODIFIED" : "ADDED" };
  return wasSelected ? { type: "DELETED", previous: before.state } : { type: "none" };
}
