/**
 * RBAC and everything that hangs on it, wired: roles from the store, decisions, the check of who gives what, reviews, gathered roles.
 */
import type { Clock, Supervisor } from "@kcp-ts/machinery/base";
import type { ClusterAuthenticator } from "./access-sources/index.ts";
import { composeReviewers, PolicyCache, RoleAggregation } from "./access-sources/index.ts";
import type { AdmissionPlugin } from "./admission/index.ts";
import {
  type Authorizer,
  bootstrapAuthorizer,
  EscalationCheck,
  RbacAuthorizer,
  unionAuthorizer,
} from "./authorization/index.ts";
import type { Reviewers } from "./handlers/index.ts";
import type { Registry } from "./registry/index.ts";
import type { Storage } from "./storage/index.ts";
import type { WatchHub } from "./watch-cache/index.ts";

/**
 * Puts authorization together around RBAC: wraps it, or stands others beside it. What is put inside `gate` is asked only about those who may enter
 * the logical cluster; all of it is, when it puts nothing inside. Called more than once: also with a gate that lets everybody in, for what is asked of those who need not enter.
 */
export type ComposeAuthorization = (
  rbac: Authorizer,
  gate: (inner: Authorizer) => Authorizer,
) => Authorizer;

export interface AccessControlOptions {
  readonly storage: Storage;
  readonly hub: WatchHub;
  readonly registry: Registry;
  readonly authenticator: Pick<ClusterAuthenticator, "reviewTokenIn">;
  readonly clock: Pick<Clock, "now">;
  readonly supervisor: Supervisor;
  readonly compose?: ComposeAuthorization | undefined;
  /** Put around RBAC: what roles allow may still be more than a provider allows. */
  readonly limit?: ((rbac: Authorizer) => Authorizer) | undefined;
  /** Put in front of roles: decides who may enter a logical cluster at all. */
  readonly gate?: ((inner: Authorizer) => Authorizer) | undefined;
  readonly onError: (error: unknown) => void;
}

export interface AccessControl {
  /** The whole of it. */
  readonly authorizer: Authorizer;
  /** What it says of those who may enter, whether or not they may. */
  readonly rules: Authorizer;
  /** What roles say, without any limit: what a provider's own roles allow its consumers is such a limit. */
  readonly roles: Authorizer;
  readonly escalation: AdmissionPlugin;
  readonly reviewers: Reviewers;
  readonly aggregation: RoleAggregation;
}

export function accessControl(options: AccessControlOptions): AccessControl {
  const { storage, hub, registry, authenticator, compose = mastersAndRoles } = options;
  const { supervisor, onError } = options;
  const policies = new PolicyCache({ storage, hub });
  const rbac = new RbacAuthorizer(policies);
  const limited = options.limit?.(rbac) ?? rbac;
  const rules = compose(limited, open);
  const authorizer =
    options.gate === undefined ? rules : withContentAuthorizer(compose, limited, options.gate);
  const unlimited = compose(rbac, open);
  const check = new EscalationCheck(rbac, rules);
  return {
    authorizer,
    rules,
    roles: rbac,
    escalation: {
      name: "RoleEscalation",
      validate: (request, object, old) => check.check(request, object, old),
    },
    reviewers: composeReviewers({
      authenticator,
      authorizer,
      unlimited,
      rbac,
      clock: options.clock,
    }),
    aggregation: new RoleAggregation({ storage, hub, registry, policies, supervisor, onError }),
  };
}

/** Around all of it, where nobody says what it is to be around. */
function withContentAuthorizer(
  compose: ComposeAuthorization,
  roles: Authorizer,
  gate: (inner: Authorizer) => Authorizer,
): Authorizer {
  let isPlaced = false;
  const composed = compose(roles, (inner) => {
    isPlaced = true;
    return gate(inner);
  });
  return isPlaced ? composed : gate(composed);
}

function open(inner: Authorizer): Authorizer {
  return inner;
}

function mastersAndRoles(rbac: Authorizer, gate: (inner: Authorizer) => Authorizer): Authorizer {
  return gate(unionAuthorizer([bootstrapAuthorizer, rbac]));
}
