/**
 * The warnings of the type checker about the expressions of a policy, for the kinds that the policy
 * matches.
 */
import type { Resumable } from "@kcp-ts/machinery/base";
import {
  AUTHORIZER_TYPE,
  compileResumable,
  type DeclaredType,
  declaredDynamic,
  declaredValue,
  type Environment,
  kubernetesEnvironment,
  nullable,
  RESOURCE_CHECK_TYPE,
} from "@kcp-ts/machinery/cel";
import { isJsonObject, type JsonObject, objectsOf, textsOf } from "@kcp-ts/machinery/json";
import type { ResourceDefinition } from "../registry/index.ts";
import { declaredKind } from "./declared-kind.ts";

export interface ExpressionWarning {
  readonly fieldRef: string;
  readonly warning: string;
}

/** The number of kinds that one policy is checked against, as in Kubernetes. */
export const kindsMax = 10;

/** Only kinds that are named are checked: the kinds that a wildcard matches are not. */
export function* typeWarnings(
  policy: JsonObject,
  served: readonly ResourceDefinition[],
): Resumable<ExpressionWarning[]> {
  const spec = isJsonObject(policy["spec"]) ? policy["spec"] : {};
  const kinds: { readonly name: string; readonly environment: Environment }[] = [];
  for (const definition of kindsOf(spec, served)) {
    const { group, version, kind } = definition;
    const name = `${group === "" ? "" : `${group}/`}${version}, Kind=${kind}`;
    kinds.push({ name, environment: environmentFor(yield* declaredKind(definition)) });
    yield;
  }
  const found: ExpressionWarning[] = [];
  for (const { fieldRef, text } of kinds.length === 0 ? [] : expressionsOf(spec)) {
    const warnings: string[] = [];
    for (const { name, environment } of kinds) {
      const compiled = yield* compileResumable(text, environment);
      if (!compiled.ok) warnings.push(`${name}: ${compiled.message}`);
      yield;
    }
    if (warnings.length > 0) found.push({ fieldRef, warning: warnings.join("\n") });
  }
  return found;
}

function kindsOf(
  spec: JsonObject,
  served: readonly ResourceDefinition[],
): readonly ResourceDefinition[] {
  const { matchConstraints } = spec;
  const named = new Set<string>();
  for (const rule of objectsOf(
    isJsonObject(matchConstraints) ? matchConstraints["resourceRules"] : [],
  ))
    for (const group of textsOf(rule["apiGroups"]))
      for (const version of textsOf(rule["apiVersions"]))
        for (const resource of textsOf(rule["resources"]))
          named.add(`${group}/${version}/${resource}`);
  return served
    .filter(({ group, version, resource }) => named.has(`${group}/${version}/${resource}`))
    .slice(0, kindsMax);
}

function environmentFor(object: DeclaredType): Environment {
  return kubernetesEnvironment.extend({
    variables: {
      object: nullable(object),
      oldObject: nullable(object),
      request: declaredDynamic,
      namespaceObject: declaredDynamic,
      params: declaredDynamic,
      variables: declaredDynamic,
      authorizer: declaredValue(AUTHORIZER_TYPE),
      "authorizer.requestResource": declaredValue(RESOURCE_CHECK_TYPE),
    },
  });
}

function expressionsOf(spec: JsonObject): { readonly fieldRef: string; readonly text: string }[] {
  const found: { fieldRef: string; text: string }[] = [];
  for (const [at, validation] of objectsOf(spec["validations"]).entries()) {
    for (const member of ["expression", "messageExpression"]) {
      const text = validation[member];
      if (typeof text === "string" && text.trim() !== "")
        found.push({ fieldRef: `spec.validations[${at}].${member}`, text });
    }
  }
  return found;
}
