/**
 * Whether CEL expressions of webhooks and policies compile: the seam to the CEL room.
 *
 * Objects are dynamic here, so wrong member names are found when a request is checked, as upstream does for kinds it has no schema
 * of. Expressions for apply configurations construct typed objects (`Object{spec: …}`), whose types belong to the kind that is
 * changed: the mutating policy room checks those, and this one only that they are there.
 */
import {
  AUTHORIZER_TYPE,
  BOOL,
  compile,
  declaredDynamic,
  declaredValue,
  type Environment,
  kubernetesEnvironment,
  NULL,
  RESOURCE_CHECK_TYPE,
  STRING,
  type Type,
} from "@kcp-ts/machinery/cel";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";

export interface ExpressionContext {
  readonly field: string;
  readonly result: "bool" | "string" | "stringOrNull" | "any";
  readonly hasParams: boolean;
  readonly hasAuthorizer: boolean;
  readonly hasVariables?: boolean;
}

export function expressionErrors(expression: string, context: ExpressionContext): FieldError[] {
  const resultTypes = results[context.result];
  const compilation = compile(
    expression,
    environmentOf(context),
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
};

const environments = new Map<string, Environment>();

/** One per combination of what there is to refer to. */
function environmentOf({
  hasParams,
  hasAuthorizer,
  hasVariables = false,
}: ExpressionContext): Environment {
  const key = `${hasParams}/${hasAuthorizer}/${hasVariables}`;
  let environment = environments.get(key);
  if (environment === undefined) {
    const dynamic = ["object", "oldObject", "request", "namespaceObject"];
    if (hasParams) dynamic.push("params");
    if (hasVariables) dynamic.push("variables");
    environment = kubernetesEnvironment.extend({
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
