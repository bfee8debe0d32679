/**
 * A kind as CEL's type checker sees it: derived from the shape of a built-in kind, or from the
 * schema of a custom one.
 */
import type { Resumable } from "@kcp-ts/machinery/base";
import {
  type DeclaredType,
  declaredBool,
  declaredBytes,
  declaredDateTime,
  declaredDouble,
  declaredDynamic,
  declaredInt,
  declaredIntOrString,
  declaredList,
  declaredMap,
  declaredObject,
  declaredString,
  type PropertyDeclaration,
} from "@kcp-ts/machinery/cel";
import { parseResumable } from "@kcp-ts/machinery/json";
import { readSchema } from "@kcp-ts/machinery/schema";
import type { MessageShape, ScalarType, Shape } from "@kcp-ts/machinery/shape";
import { declareSchema } from "../custom-resources/index.ts";
import type { ResourceDefinition } from "../registry/index.ts";

export function* declaredKind({ openApi, strategy }: ResourceDefinition): Resumable<DeclaredType> {
  if (openApi === undefined) return declareMessage(strategy.shape, "object", rootFields);
  const published = yield* parseResumable(yield* openApi("v3"));
  yield;
  const { schema } = readSchema(published.value);
  yield;
  return (schema === undefined ? undefined : declareSchema(schema, true)) ?? declaredDynamic;
}

const text: PropertyDeclaration = { declared: declaredString() };
const rootFields: readonly (readonly [string, PropertyDeclaration])[] = [
  ["apiVersion", text],
  ["kind", text],
];

/** The depth to which recursive shapes are declared. */
const depthMax = 16;

function declareMessage(
  { fields }: MessageShape,
  name: string,
  more: readonly (readonly [string, PropertyDeclaration])[] = [],
  depth = 0,
): DeclaredType {
  const properties = [...fields.values()].flatMap((field): [string, PropertyDeclaration][] =>
    field.isInlined === true && field.shape.kind === "message"
      ? [...field.shape.fields.values()].map((inner) => [
          inner.name,
          { declared: declare(inner.shape, `${name}.${inner.name}`, depth + 1) },
        ])
      : [[field.name, { declared: declare(field.shape, `${name}.${field.name}`, depth + 1) }]],
  );
  return declaredObject(name, [...more, ...properties]);
}

function declare(shape: Shape, name: string, depth: number): DeclaredType {
  if (depth > depthMax) return declaredDynamic;
  switch (shape.kind) {
    case "scalar":
      return scalars[shape.scalar] ?? declaredDynamic;
    case "list":
      return declaredList(declare(shape.items, `${name}.@items`, depth + 1));
    case "map":
      return declaredMap(declare(shape.values, `${name}.@values`, depth + 1));
    default:
      return declareMessage(shape, name, [], depth);
  }
}

const scalars: Partial<Record<ScalarType, DeclaredType>> = {
  string: declaredString(),
  bool: declaredBool,
  int32: declaredInt,
  int64: declaredInt,
  double: declaredDouble,
  bytes: declaredBytes(),
  time: declaredDateTime,
  microTime: declaredDateTime,
  quantity: declaredIntOrString(),
  intOrString: declaredIntOrString(),
};
