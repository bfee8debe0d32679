/**
 * The expressions of webhooks and policies, compiled once for all that have the same text, and
 * cached as long as one of them exists.
 */
import { InternPool } from "@kcp-ts/machinery/base";
import {
  AUTHORIZER_TYPE,
  BOOL,
  type Compilation,
  compile,
  DYN,
  declaredDynamic,
  declaredLazy,
  declaredValue,
  type Environment,
  JSON_PATCH_TYPE,
  jsonPatchLibrary,
  kubernetesEnvironment,
  listOf,
  NULL,
  OBJECT_TYPE,
  type Program,
  RESOURCE_CHECK_TYPE,
  STRING,
  type Type,
  withMutationTypes,
} from "@kcp-ts/machinery/cel";

/**
 * The use of an expression: determines the variables that it may refer to and the type of its
 * result.
 */
export type ExpressionUse =
  | "matchCondition"
  | "variable"
  | "validation"
  | "message"
  | "audit"
  | "applyConfiguration"
  | "jsonPatch";

export class Expression {
  readonly text: string;
  readonly program: Program | undefined;
  /** The error of the compilation. */
  readonly error: string | undefined;

  constructor(text: string, compilation: Compilation) {
    this.text = text;
    this.program = compilation.ok ? compilation.program : undefined;
    this.error = compilation.ok ? undefined : compilation.message;
  }
}

const compiled = new InternPool<Expression>();

export function expressionOf(text: string, use: ExpressionUse): Expression {
  return compiled.get(`${use}/${text}`, () => {
    const resultTypes = results[use];
    const options = resultTypes === undefined ? {} : { resultTypes };
    return new Expression(text, compile(text, environmentOf(text, use), options));
  });
}

const variables = new Map([
  ...["object", "oldObject", "request", "namespaceObject", "params"].map(
    (name) => [name, declaredDynamic] as const,
  ),
  ["variables", declaredLazy] as const,
  ["authorizer", declaredValue(AUTHORIZER_TYPE)] as const,
  ["authorizer.requestResource", declaredValue(RESOURCE_CHECK_TYPE)] as const,
]);

const plain: Environment = kubernetesEnvironment.extend({ variables });

const patching: Environment = kubernetesEnvironment.extend({
  variables,
  libraries: [jsonPatchLibrary],
});

const results: Readonly<Record<ExpressionUse, readonly Type[] | undefined>> = {
  matchCondition: [BOOL],
  variable: undefined,
  validation: [BOOL],
  message: [STRING],
  audit: [STRING, NULL],
  applyConfiguration: [OBJECT_TYPE],
  // An empty list has elements of any type.
  jsonPatch: [listOf(JSON_PATCH_TYPE), listOf(DYN)],
};

function environmentOf(text: string, use: ExpressionUse): Environment {
  if (use === "variable")
    return /\b(?:Object|JSONPatch|jsonpatch)\b/.test(text)
      ? withMutationTypes(patching, text)
      : plain;
  const isMutation = use === "applyConfiguration" || use === "jsonPatch";
  return isMutation ? withMutationTypes(patching, text) : plain;
}
