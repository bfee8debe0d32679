/** A change as predicates and mappings see it. */
import type { ObjectKey } from "../informer/index.ts";

export type Change<Cached> =
  | {
      readonly type: "added";
      readonly key: ObjectKey;
      readonly object: Cached;
      /** From the state at the start. */
      readonly initial: boolean;
    }
  | {
      readonly type: "updated";
      readonly key: ObjectKey;
      readonly object: Cached;
      readonly previous: Cached;
    }
  | { readonly type: "deleted"; readonly key: ObjectKey; readonly object: Cached };
