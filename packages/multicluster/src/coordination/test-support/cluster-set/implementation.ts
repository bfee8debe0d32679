/**
 * The implementation under test: the product's own functions. A test of the invariants passes
 * others, each with one seeded fault.
 */
import { drainStep } from "../../../drain/index.ts";
import { downstreamNamespace } from "../../../syncer/index.ts";
import { decideWithOverrides } from "../../overrides.ts";

export interface Implementation {
  readonly decide: typeof decideWithOverrides;
  readonly drainStep: typeof drainStep;
  readonly namespaceOf: typeof downstreamNamespace;
}

export const implementation: Implementation = {
  decide: decideWithOverrides,
  drainStep,
  namespaceOf: downstreamNamespace,
};
