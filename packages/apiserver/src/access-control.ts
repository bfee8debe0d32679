/**
 * Wiring of RBAC and its dependents: roles read from the store, decisions, the escalation check for
 * roles and bindings, access reviews, aggregated ClusterRoles.
 */
import type { Clock, Supervisor } from "@kcp-ts/machinery/base";
import type { ClusterAuthenticator } from "./access-sources/index.ts";
import { composeReviewers, PolicyCache, RoleAggregation } from "./access-sources/index.ts";
import type { AdmissionPlugin } from "./admission/index.ts";
import {
  type Authorizer,
  bootstrapAuthorizer,
  checkedRoleResources,
  EscalationCheck,
  RbacAuthorizer,
  unionAuthorizer,
} from "./authorization/index.ts";
import type { Reviewers } from "./handlers/index.ts";
import type { Registry } from "./registry/index.ts";
import type { Storage } from "./storage/index.ts";
import type { WatchHub } from "./watch-cache/index.ts";

/**
 * Composes authorization around RBAC: wraps RBAC, or adds other authorizers beside it. Authorizers
 * inside `gate` only decide about users who may access the logical cluster; when `gate` wraps none
 * of them, it guards all. Called more than once: also with a gate that admits every user, for
 * reviews of users who need no access to the cluster.
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
  /** Wraps RBAC: roles may permit more than a provider permits. */
  readonly limit?: ((rbac: Authorizer) => Authorizer) | undefined;
  /** Wraps the other authorizers: decides which users may access a logical cluster at all. */
  readonly contentAuthorizer?: ((inner: Authorizer) => Authorizer) | undefined;
  readonly onError: (error: unknown) => void;
}

export interface AccessControl {
  /** The complete authorizer. */
  readonly authorizer: Authorizer;
  /** The authorizer without the check for access to the logical cluster. */
  readonly rules: Authorizer;
  /**
   * RBAC alone, without any restriction; a provider's own roles restrict its consumers in this way.
   */
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
    options.contentAuthorizer === undefined
      ? rules
      : withContentAuthorizer(compose, limited, options.contentAuthorizer);
  const unlimited = compose(rbac, open);
  const check = new EscalationCheck(rbac, rules);
  return {
    authorizer,
    rules,
    roles: rbac,
    escalation: {
      name: "RoleEscalation",
      resources: checkedRoleResources,
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

/**
 * Puts the content authorizer around the whole composition when the composition does not place it.
 */
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
