/**
 * Label selectors: parsed once from a query or from an object's selector, then matched against many
 * objects.
 */
import { utf8Length } from "../names/index.ts";
import { quote } from "../status/index.ts";
import { parseLabelRequirements } from "./label-parser.ts";
import {
  compileRequirement,
  formatRequirement,
  type LabelOperator,
  type LabelRequirement,
  type Labels,
  newLabelRequirement,
} from "./label-requirement.ts";
import {
  SelectorSyntaxError,
  selectorRequirementsMax,
  selectorTextBytesMax,
} from "./syntax-error.ts";

export interface LabelSelector {
  /** True when it matches everything. */
  readonly isEmpty: boolean;
  /** Sorted by key. All of them must hold. */
  readonly requirements: readonly LabelRequirement[];
  matches(labels: Labels | null | undefined): boolean;
  /** The canonical text, which parses to an equal selector. */
  toString(): string;
}

/** The `selector` of many kinds: `{matchLabels, matchExpressions}`. */
export interface LabelSelectorObject {
  readonly matchLabels?: Labels | null;
  readonly matchExpressions?: readonly LabelSelectorExpression[] | null;
}

export interface LabelSelectorExpression {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[] | null;
}

export const everything: LabelSelector = newLabelSelector([]);

/** Parses `a=b,c in (d,e),!f`. Throws `SelectorSyntaxError`. */
export function parseLabelSelector(text: string): LabelSelector {
  if (text === "") return everything;
  if (utf8Length(text) > selectorTextBytesMax)
    throw new SelectorSyntaxError(`a selector may have at most ${selectorTextBytesMax} bytes`);
  return newLabelSelector(parseLabelRequirements(text));
}

/** An empty object selects everything. The caller decides on the meaning of a missing selector. */
export function selectorFromLabelSelectorObject(object: LabelSelectorObject): LabelSelector {
  const labels = Object.entries(object.matchLabels ?? {});
  const expressions = object.matchExpressions ?? [];
  if (labels.length + expressions.length > selectorRequirementsMax)
    throw new SelectorSyntaxError(
      `a selector may have at most ${selectorRequirementsMax} requirements`,
    );
  return newLabelSelector([
    ...labels.map(([key, value]) => newLabelRequirement(key, "=", [value])),
    ...expressions.map(({ key, operator, values }) =>
      newLabelRequirement(key, expressionOperator(operator), values ?? []),
    ),
  ]);
}

const expressionOperators = new Map<string, LabelOperator>([
  ["In", "in"],
  ["NotIn", "notin"],
  ["Exists", "exists"],
  ["DoesNotExist", "!"],
]);

function expressionOperator(name: string): LabelOperator {
  const operator = expressionOperators.get(name);
  if (operator === undefined)
    throw new SelectorSyntaxError(`${quote(name)} is not a valid label selector operator`);
  return operator;
}

const noLabels: Labels = Object.freeze({});

function newLabelSelector(unsorted: readonly LabelRequirement[]): LabelSelector {
  const requirements = [...unsorted].sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  const matchers = requirements.map(compileRequirement);
  return {
    isEmpty: requirements.length === 0,
    requirements,
    matches: (labels) => matchers.every((matches) => matches(labels ?? noLabels)),
    toString: () => requirements.map(formatRequirement).join(","),
  };
}
