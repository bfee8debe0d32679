/**
 * Authorization checks in expressions:
 * `authorizer.group('apps').resource('deployments').check('create').allowed()`.
 *
 * The embedder passes the user and the authorizer; decisions are synchronous, as evaluation is.
 */
import type { Library } from "../check/environment.ts";
import { fn, member } from "../check/function-declaration.ts";
import { fixedEstimate } from "../cost/call-estimate.ts";
import { selectorCost, selectorEstimate } from "../cost/selector-estimate.ts";
import { BOOL, STRING, structType } from "../types/type.ts";
import { CelError, CelObject, type CelResult, type CelValue } from "../values/value.ts";
import { namedFormats } from "./named-formats.ts";

/** Decides on behalf of one principal. */
export interface Authorizer {
  authorize(attributes: AuthorizationAttributes): AuthorizationDecision;
  /** The same rules for a service account. */
  forServiceAccount(namespace: string, name: string): Authorizer;
}

export type AuthorizationAttributes =
  | { readonly kind: "path"; readonly path: string; readonly verb: string }
  | {
      readonly kind: "resource";
      readonly group: string;
      readonly resource: string;
      readonly subresource: string;
      readonly namespace: string;
      readonly name: string;
      readonly verb: string;
      /** As written; empty if none. The authorizer handles selectors that cannot be parsed. */
      readonly fieldSelector: string;
      readonly labelSelector: string;
    };

export interface AuthorizationDecision {
  readonly allowed: boolean;
  readonly reason: string;
  /** Why the check could not be made. */
  readonly error?: string;
}

const prefix = "kubernetes.authorization";
export const AUTHORIZER_TYPE = structType(`${prefix}.Authorizer`);
export const PATH_CHECK_TYPE = structType(`${prefix}.PathCheck`);
export const GROUP_CHECK_TYPE = structType(`${prefix}.GroupCheck`);
export const RESOURCE_CHECK_TYPE = structType(`${prefix}.ResourceCheck`);
export const DECISION_TYPE = structType(`${prefix}.Decision`);

abstract class AuthorizationObject extends CelObject {
  equals(other: CelObject): boolean {
    return this === other;
  }
}

export class CelAuthorizer extends AuthorizationObject {
  readonly typeName = AUTHORIZER_TYPE.name;
  readonly authorizer: Authorizer;

  constructor(authorizer: Authorizer) {
    super();
    this.authorizer = authorizer;
  }
}

class CelPathCheck extends AuthorizationObject {
  readonly typeName = PATH_CHECK_TYPE.name;
  readonly authorizer: Authorizer;
  readonly path: string;

  constructor(authorizer: Authorizer, path: string) {
    super();
    this.authorizer = authorizer;
    this.path = path;
  }
}

class CelGroupCheck extends AuthorizationObject {
  readonly typeName = GROUP_CHECK_TYPE.name;
  readonly authorizer: Authorizer;
  readonly group: string;

  constructor(authorizer: Authorizer, group: string) {
    super();
    this.authorizer = authorizer;
    this.group = group;
  }
}

type ResourceAttributes = Omit<
  Extract<AuthorizationAttributes, { kind: "resource" }>,
  "kind" | "verb"
>;

/** Also the value of `authorizer.requestResource`, made by the embedder. */
export class CelResourceCheck extends AuthorizationObject {
  readonly typeName = RESOURCE_CHECK_TYPE.name;
  readonly authorizer: Authorizer;
  readonly attributes: ResourceAttributes;

  constructor(authorizer: Authorizer, attributes: ResourceAttributes) {
    super();
    this.authorizer = authorizer;
    this.attributes = attributes;
  }

  with(changes: Partial<ResourceAttributes>): CelResourceCheck {
    return new CelResourceCheck(this.authorizer, { ...this.attributes, ...changes });
  }
}

class CelDecision extends AuthorizationObject {
  readonly typeName = DECISION_TYPE.name;
  readonly decision: AuthorizationDecision;

  constructor(decision: AuthorizationDecision) {
    super();
    this.decision = decision;
  }
}

/** Chosen so that an expression can make two checks within the limit per call, and no more. */
const CHECK_COST = 350_000;
const checks = { cost: CHECK_COST, estimate: fixedEstimate(CHECK_COST) };
const flat = { cost: 1, estimate: fixedEstimate(1) };
const RESOURCE = RESOURCE_CHECK_TYPE;

export const authorizerLibrary: Library = {
  types: [AUTHORIZER_TYPE, PATH_CHECK_TYPE, GROUP_CHECK_TYPE, RESOURCE_CHECK_TYPE, DECISION_TYPE],
  functions: [
    fn(
      "path",
      member("authorizer_path", [AUTHORIZER_TYPE, STRING], PATH_CHECK_TYPE, pathCheck, flat),
    ),
    fn(
      "group",
      member(
        "authorizer_group",
        [AUTHORIZER_TYPE, STRING],
        GROUP_CHECK_TYPE,
        ({ authorizer }: CelAuthorizer, group: string) => new CelGroupCheck(authorizer, group),
        flat,
      ),
    ),
    fn(
      "serviceAccount",
      member(
        "authorizer_serviceaccount",
        [AUTHORIZER_TYPE, STRING, STRING],
        AUTHORIZER_TYPE,
        serviceAccount,
        flat,
      ),
    ),
    fn(
      "resource",
      member("groupcheck_resource", [GROUP_CHECK_TYPE, STRING], RESOURCE, resourceCheck, flat),
    ),
    fn(
      "subresource",
      member(
        "resourcecheck_subresource",
        [RESOURCE, STRING],
        RESOURCE,
        (check: CelResourceCheck, subresource: string) => check.with({ subresource }),
        flat,
      ),
    ),
    fn(
      "namespace",
      member(
        "resourcecheck_namespace",
        [RESOURCE, STRING],
        RESOURCE,
        (check: CelResourceCheck, namespace: string) => check.with({ namespace }),
        flat,
      ),
    ),
    fn(
      "name",
      member(
        "resourcecheck_name",
        [RESOURCE, STRING],
        RESOURCE,
        (check: CelResourceCheck, name: string) => check.with({ name }),
        flat,
      ),
    ),
    fn(
      "fieldSelector",
      member(
        "authorizer_fieldselector",
        [RESOURCE, STRING],
        RESOURCE,
        (check: CelResourceCheck, fieldSelector: string) => check.with({ fieldSelector }),
        selects(),
      ),
    ),
    fn(
      "labelSelector",
      member(
        "authorizer_labelselector",
        [RESOURCE, STRING],
        RESOURCE,
        (check: CelResourceCheck, labelSelector: string) => check.with({ labelSelector }),
        selects(),
      ),
    ),
    fn(
      "check",
      member("pathcheck_check", [PATH_CHECK_TYPE, STRING], DECISION_TYPE, checkPath, checks),
      member("resourcecheck_check", [RESOURCE, STRING], DECISION_TYPE, checkResource, checks),
    ),
    fn(
      "errored",
      member(
        "decision_errored",
        [DECISION_TYPE],
        BOOL,
        ({ decision }: CelDecision) => decision.error !== undefined,
        flat,
      ),
    ),
    fn(
      "error",
      member(
        "decision_error",
        [DECISION_TYPE],
        STRING,
        ({ decision }: CelDecision) => decision.error ?? "",
        flat,
      ),
    ),
    fn(
      "allowed",
      member(
        "decision_allowed",
        [DECISION_TYPE],
        BOOL,
        ({ decision }: CelDecision) => decision.allowed,
        flat,
      ),
    ),
    fn(
      "reason",
      member(
        "decision_reason",
        [DECISION_TYPE],
        STRING,
        ({ decision }: CelDecision) => decision.reason,
        flat,
      ),
    ),
  ],
};

function selects() {
  return {
    cost: (_result: CelResult, _check: CelValue, selector: CelValue) => selectorCost(selector),
    estimate: selectorEstimate,
  };
}

function pathCheck({ authorizer }: CelAuthorizer, path: string): CelResult {
  return path.trim() === ""
    ? new CelError("path must not be empty")
    : new CelPathCheck(authorizer, path);
}

function serviceAccount({ authorizer }: CelAuthorizer, namespace: string, name: string): CelResult {
  if (namedFormats.get("dns1123Subdomain")?.validate(name).length !== 0) {
    return new CelError("Invalid service account name");
  }
  if (namedFormats.get("dns1123Label")?.validate(namespace).length !== 0) {
    return new CelError("Invalid service account namespace");
  }
  return new CelAuthorizer(authorizer.forServiceAccount(namespace, name));
}

function resourceCheck({ authorizer, group }: CelGroupCheck, resource: string): CelResult {
  if (resource.trim() === "") return new CelError("resource must not be empty");
  const attributes = {
    group,
    resource,
    subresource: "",
    namespace: "",
    name: "",
    fieldSelector: "",
    labelSelector: "",
  };
  return new CelResourceCheck(authorizer, attributes);
}

function checkPath({ authorizer, path }: CelPathCheck, verb: string): CelResult {
  return new CelDecision(authorizer.authorize({ kind: "path", path, verb }));
}

function checkResource({ authorizer, attributes }: CelResourceCheck, verb: string): CelResult {
  return new CelDecision(authorizer.authorize({ kind: "resource", ...attributes, verb }));
}
