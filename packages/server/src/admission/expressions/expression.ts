/**
 * Expressions of webhooks and policies, compiled once for all who have the same text: by content, for as long as somebody holds them.
 */
import { Interned } from "@kcp-ts/machinery/base";
import {
  AUTHORIZER_TYPE,
  BOOL,
  CelStruct,
  type Compilation,
  compile,
  DYN,
  declaredDynamic,
  declaredValue,
  type Environment,
  jsonPatchLibrary,
  kubernetesEnvironment,
  listOf,
  NULL,
  type Program,
  RESOURCE_CHECK_TYPE,
  STRING,
  structType,
  type Type,
} from "@kcp-ts/machinery/cel";

/** What an expression comes to: decides what it may refer to and what it must evaluate to. */
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
  /** Why it does not compile. */
  readonly error: string | undefined;

  constructor(text: string, compilation: Compilation) {
    this.text = text;
    this.program = compilation.ok ? compilation.program : undefined;
    this.error = compilation.ok ? undefined : compilation.message;
  }
}

const compiled = new Interned<Expression>();

export function expressionOf(text: string, use: ExpressionUse): Expression {
  return compiled.get(`${use}/${text}`, () => {
    const resultTypes = results[use];
    const options = resultTypes === undefined ? {} : { resultTypes };
    return new Expression(text, compile(text, environmentOf(text, use), options));
  });
}

const variables = new Map([
  ...["object", "oldObject", "request", "namespaceObject", "params", "variables"].map(
    (name) => [name, declaredDynamic] as const,
  ),
  ["authorizer", declaredValue(AUTHORIZER_TYPE)] as const,
  ["authorizer.requestResource", declaredValue(RESOURCE_CHECK_TYPE)] as const,
]);

const plain: Environment = kubernetesEnvironment.extend({ variables });

const objectType: Type = structType("Object", () => DYN);
const patchFields: ReadonlyMap<string, Type> = new Map([
  ["op", STRING],
  ["path", STRING],
  ["from", STRING],
  ["value", DYN],
]);
const patchType: Type = structType("JSONPatch", (field) => patchFields.get(field));
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
  applyConfiguration: [objectType],
  jsonPatch: [listOf(patchType)],
};

/** Types that a text can name; the checker finds out which of them it does. */
const typesMax = 200;

function environmentOf(text: string, use: ExpressionUse): Environment {
  if (use !== "applyConfiguration" && use !== "jsonPatch" && use !== "variable") return plain;
  if (use === "variable" && !/\b(?:Object|JSONPatch)\b/.test(text)) return plain;
  const names = new Set(["Object"]);
  for (const [, name] of text.matchAll(/\b(Object(?:\s*\.\s*\w+)*)\s*\{/g)) {
    if (names.size < typesMax) names.add((name as string).replaceAll(/\s/g, ""));
  }
  const structs = [...names].map((name) => ({
    type: name === "Object" ? objectType : structType(name, () => DYN),
    construct: (fields: CelStruct["fields"]) => new CelStruct(name, fields),
  }));
  const patch = {
    type: patchType,
    construct: (fields: CelStruct["fields"]) => new CelStruct("JSONPatch", fields),
  };
  return patching.extend({ structs: [...structs, patch] });
}
