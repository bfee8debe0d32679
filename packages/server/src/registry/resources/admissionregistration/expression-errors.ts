/**
 * Whether CEL expressions of webhooks and policies compile: the seam to the CEL room.
 *
 * Objects are dynamic here, so wrong member names are found when a request is checked, as upstream does for kinds it has no schema
 * of. Expressions for apply configurations construct objects (`Object{spec: …}`), whose members are dynamic, too.
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
  type Type,
  withMutationTypes,
} from "@kcp-ts/machinery/cel";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";

export interface ExpressionContext {
  readonly field: string;
  readonly result: "bool" | "string" | "stringOrNull" | "any" | "applyConfiguration" | "jsonPatch";
  readonly hasParams: boolean;
  readonly hasAuthorizer: boolean;
  readonly hasVariables?: boolean;
  /** Whether the expression belongs to a policy that mutates. */
  readonly isMutating?: boolean;
}

export function expressionErrors(expression: string, context: ExpressionContext): FieldError[] {
  const resultTypes = results[context.result];
  const environment = environmentOf(context);
  const compilation = compile(
    expression,
    context.isMutating === true ? withMutationTypes(environment, expression) : environment,
    resultTypes === undefined ? {} : { resultTypes },
  );
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
  // An empty list is a list of anything.
  jsonPatch: [listOf(JSON_PATCH_TYPE), listOf(DYN)],
};

const environments = new Map<string, Environment>();

/** One per combination of what there is to refer to. */
function environmentOf({
  hasParams,
  hasAuthorizer,
  hasVariables = false,
  isMutating = false,
}: ExpressionContext): Environment {
  const key = `${hasParams}/${hasAuthorizer}/${hasVariables}/${isMutating}`;
  let environment = environments.get(key);
  if (environment === undefined) {
    const dynamic = ["object", "oldObject", "request", "namespaceObject"];
    if (hasParams) dynamic.push("params");
    if (hasVariables) dynamic.push("variables");
    environment = kubernetesEnvironment.extend({
      libraries: isMutating ? [jsonPatchLibrary] : [],
      variables: new Map([
        ...dynamic.map((name) => [name, declaredDynamic] as const),
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
