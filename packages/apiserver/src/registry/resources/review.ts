/** A review kind: created with its answer in the response, and never stored. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { MessageShape } from "@kcp-ts/machinery/shape";
import type { FieldError } from "@kcp-ts/machinery/status";
import type { ResourceDefinition } from "../resource-definition.ts";
import { baseStrategy, builtIn, nameCell, nameColumn, namespacedNames } from "./standard.ts";

export interface ReviewKind {
  readonly group: string;
  readonly kind: string;
  readonly shape: MessageShape;
  readonly isNamespaced: boolean;
  readonly validate: (object: JsonObject) => FieldError[];
}

export function review({
  group,
  kind,
  isNamespaced,
  shape,
  validate,
}: ReviewKind): ResourceDefinition {
  const singular = kind.toLowerCase();
  return builtIn({
    group,
    kind,
    isNamespaced,
    singular,
    resource: `${singular}s`,
    verbs: ["create"],
    isReview: true,
    strategy: {
      ...baseStrategy,
      ...namespacedNames,
      shape,
      validate,
      columns: [nameColumn],
      cells: (object) => [nameCell(object)],
    },
  });
}
