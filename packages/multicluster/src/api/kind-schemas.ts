/** What the kinds of physical clusters have in common. */
import {
  atomic,
  conditionList,
  keyedBy,
  list,
  map,
  object,
  rules,
  type Schema,
  type SystemKind,
  string,
} from "@kcp-ts/machinery/schema";
import type { LabelSelectorObject } from "@kcp-ts/machinery/selectors";
import { type Condition, defineResource, type KubernetesObject, type Resource } from "@kcp-ts/sdk";

export const version = "v1alpha1";
export const categories: readonly string[] = ["kcp"];

export type Severity = "Error" | "Warning" | "Info";

/** A condition with a severity when it is not True. */
export interface SeverityCondition extends Condition {
  readonly severity?: Severity;
}

/** Conditions as controllers write them: always with a reason and a message. */
export const conditions: Schema<readonly SeverityCondition[]> = conditionList(keyedBy("type"), {
  enum: ["True", "False", "Unknown"],
});

const labelKeyPattern =
  "^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$";
const labelValue = string("", {
  pattern: "^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$",
  maxLength: 63,
});

/** The schema of a label selector that admits only valid selectors. */
export function selector(description: string): Schema<LabelSelectorObject> {
  return object(
    {
      matchLabels: map(labelValue, {
        maxProperties: 32,
        ...rules([
          `self.all(key, key.matches('${labelKeyPattern}'))`,
          "its keys must be keys of labels",
        ]),
      }),
      matchExpressions: list(
        object(
          {
            key: string("", { pattern: labelKeyPattern, maxLength: 317 }),
            operator: string("", { enum: ["In", "NotIn", "Exists", "DoesNotExist"] }),
            values: list(labelValue, { maxItems: 100, ...atomic }),
          },
          {
            required: ["key", "operator"],
            ...rules([
              "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
              "In and NotIn need values, Exists and DoesNotExist have none",
            ]),
          },
        ),
        { maxItems: 32, ...atomic },
      ),
    },
    { description, "x-kubernetes-map-type": "atomic" },
  );
}

export function resourceOf<Object extends KubernetesObject>(kind: SystemKind): Resource<Object> {
  const { group, resource, isNamespaced: namespaced = false } = kind;
  return defineResource<Object>({
    group,
    version: kind.version,
    resource,
    kind: kind.kind,
    namespaced,
  });
}
