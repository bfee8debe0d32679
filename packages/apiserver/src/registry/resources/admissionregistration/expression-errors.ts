/**
 * Compiles the CEL expressions of webhooks and policies: the interface to the CEL folder.
 *
 * Objects are dynamic here, requests, namespaces and variables are not, so wrong member names of
 * objects are found when a request is checked, as upstream does for kinds without a schema.
 * Expressions for apply configurations construct objects (`Object{spec: …}`), whose members are
 * dynamic, too.
 */
import {
  AUTHORIZER_TYPE,
  BOOL,
  compile,
  DYN,
  declaredDynamic,
  declaredValue,
  type Environment,
  JSON_PATCH_TYPE,
  jsonPatchLibrary,
  kubernetesEnvironment,
  listOf,
  NULL,
  OBJECT_TYPE,
  RESOURCE_CHECK_TYPE,
  STRING,
  structType,
  type Type,
  withMutationTypes,
} from "@kcp-ts/machinery/cel";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { namespaceType, requestType } from "./expression-types.ts";

export interface ExpressionContext {
  readonly field: string;
  readonly result: "bool" | "string" | "stringOrNull" | "any" | "applyConfiguration" | "jsonPatch";
  readonly hasParams: boolean;
  readonly hasAuthorizer: boolean;
  /** The variables so far, by their type; undefined where there are none. */
  readonly variables?: Map<string, Type> | undefined;
  /** The name of the variable that the expression declares, if it does. */
  readonly declares?: string;
  /** Whether the expression belongs to a mutating policy. */
  readonly isMutating?: boolean;
}

export function expressionErrors(expression: string, context: ExpressionContext): FieldError[] {
  const resultTypes = results[context.result];
  const environment = environmentOf(context);
  const compilation = compile(
    expression,
    context.isMutating === true ? withMutationTypes(environment, expression) : environment,
    resultTypes === undefined ? {} : { resultTypes, isExact: true },
  );
  if (context.declares !== undefined)
    context.variables?.set(context.declares, compilation.ok ? compilation.program.resultType : DYN);
  if (compilation.ok) return [];
  const { message } = compilation;
  return [
    fieldError.invalid(
      context.field,
      expression,
      message.startsWith("must evaluate to") ? message : `compilation failed: ${message}`,
    ),
  ];
}

const results: Readonly<Record<ExpressionContext["result"], readonly Type[] | undefined>> = {
  bool: [BOOL],
  string: [STRING],
  stringOrNull: [STRING, NULL],
  any: undefined,
  applyConfiguration: [OBJECT_TYPE],
  jsonPatch: [listOf(JSON_PATCH_TYPE)],
};

const environments = new Map<string, Environment>();

/** One environment per combination of available variables. */
function environmentOf({
  hasParams,
  hasAuthorizer,
  variables,
  isMutating = false,
}: ExpressionContext): Environment {
  const environment = sharedEnvironment(hasParams, hasAuthorizer, isMutating);
  if (variables === undefined) return environment;
  const type = structType("kubernetes.variables", (field) => variables.get(field));
  return environment.extend({ variables: new Map([["variables", declaredValue(type)]]) });
}

function sharedEnvironment(
  hasParams: boolean,
  hasAuthorizer: boolean,
  isMutating: boolean,
): Environment {
  const key = `${hasParams}/${hasAuthorizer}/${isMutating}`;
  let environment = environments.get(key);
  if (environment === undefined) {
    const dynamic = ["object", "oldObject"];
    if (hasParams) dynamic.push("params");
    environment = kubernetesEnvironment.extend({
      libraries: isMutating ? [jsonPatchLibrary] : [],
      variables: new Map([
        ...dynamic.map((name) => [name, declaredDynamic] as const),
        ["request", requestType] as const,
        ["namespaceObject", namespaceType] as const,
        ...(hasAuthorizer
          ? ([
              ["authorizer", declaredValue(AUTHORIZER_TYPE)],
              ["authorizer.requestResource", declaredValue(RESOURCE_CHECK_TYPE)],
            ] as const)
          : []),
      ]),
    });
    environments.set(key, environment);
  }
  return environment;
}
