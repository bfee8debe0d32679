/**
 * Finds the parameters of a policy: the policy is evaluated once for each of them, and not at all
 * without any.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ReviewedRequest } from "../reviewed-request.ts";
import type { ParameterKind } from "../sources.ts";
import type { Binding, ParamRef } from "./binding.ts";
import type { ParamKind, Policy } from "./policy.ts";

/** The policy or the binding is misconfigured: the failure policy decides. */
export class PolicyConfigurationError extends Error {
  override readonly name = "PolicyConfigurationError";
  readonly of: "policy" | "binding";

  constructor(of: "policy" | "binding", message: string) {
    super(`failed to configure ${of}: ${message}`);
    this.of = of;
  }
}

/** The maximum number of parameters of one binding; a selector that matches more is an error. */
const parametersMax = 1000;

/** Null stands for a policy without parameters. */
export async function parametersOf(
  { paramKind }: Policy,
  { paramRef }: Binding,
  reviewed: ReviewedRequest,
): Promise<readonly (JsonObject | null)[]> {
  if (paramKind === undefined) return [null];
  const { sources, request } = reviewed;
  const { cluster, group, resource } = request;
  const kind = await sources.parameters.kind(
    sources.providers.ownerOf(cluster, group, resource),
    paramKind.apiVersion,
    paramKind.kind,
  );
  if (kind === undefined)
    throw new PolicyConfigurationError(
      "policy",
      `failed to find resource referenced by paramKind: '${shown(paramKind)}'`,
    );
  if (paramRef === undefined) return [null];
  const found = await find(kind, paramRef, namespaceFor(kind, paramRef, reviewed));
  if (found.length === 0 && paramRef.isDeniedWithout)
    throw bindingConfigurationError(
      "no params found for policy binding with `Deny` parameterNotFoundAction",
    );
  if (found.length > parametersMax)
    throw bindingConfigurationError(`more than ${parametersMax} params found for policy binding`);
  return found;
}

async function find(
  kind: ParameterKind,
  { name, selector }: ParamRef,
  namespace: string,
): Promise<readonly JsonObject[]> {
  if (selector !== undefined) return kind.list(namespace, selector);
  const found = await kind.get(namespace, name);
  return found === undefined ? [] : [found];
}

/** The namespace of the object by default. */
function namespaceFor(
  { isNamespaced }: ParameterKind,
  { namespace }: ParamRef,
  reviewed: ReviewedRequest,
): string {
  if (!isNamespaced) {
    if (namespace === "") return "";
    throw bindingConfigurationError(
      "paramRef.namespace must not be provided for a cluster-scoped `paramKind`",
    );
  }
  if (namespace !== "") return namespace;
  if (reviewed.namespace !== "") return reviewed.namespace;
  throw bindingConfigurationError(
    "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources",
  );
}

function bindingConfigurationError(message: string): PolicyConfigurationError {
  return new PolicyConfigurationError("binding", message);
}

function shown({ apiVersion, kind }: ParamKind): string {
  return apiVersion.includes("/") ? `${apiVersion}, Kind=${kind}` : `/${apiVersion}, Kind=${kind}`;
}
