/** A change of an object as predicates and mappings receive it. */
import type { ObjectKey } from "../informer/index.ts";

export type Change<Cached> =
  | {
      readonly type: "added";
      readonly key: ObjectKey;
      readonly object: Cached;
      /** The object is from the initial list. */
      readonly initial: boolean;
    }
  | {
      readonly type: "updated";
      readonly key: ObjectKey;
      readonly object: Cached;
      readonly previous: Cached;
    }
  | { readonly type: "deleted"; readonly key: ObjectKey; readonly object: Cached };
