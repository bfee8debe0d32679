/**
 * The selectors of an aggregated ClusterRole, parsed on demand: a tenant can write tens of
 * thousands.
 */
import { isJsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import {
  type LabelSelector,
  type LabelSelectorObject,
  SelectorSyntaxError,
  selectorFromLabelSelectorObject,
} from "@kcp-ts/machinery/selectors";

export interface AggregationSelector {
  matches(labels: Readonly<Record<string, string>>): boolean;
  readonly requirementCount: number;
  /** The cost of parsing the selector, in comparisons of labels. */
  readonly cost: number;
}

export class AggregationSelectors {
  readonly #raw: readonly JsonValue[];
  readonly #read: AggregationSelector[] = [];

  constructor(raw: JsonValue | undefined) {
    this.#raw = Array.isArray(raw) ? (raw as readonly JsonValue[]) : [];
  }

  *each(): Generator<AggregationSelector> {
    for (const [i, raw] of this.#raw.entries()) {
      let read = this.#read[i];
      if (read === undefined) {
        read = readSelector(raw);
        this.#read.push(read);
      }
      yield read;
    }
  }
}

/**
 * Parsing a selector takes as long as some tens of comparisons, and some for each of its values.
 */
export const selectorParseCost = 40;

function readSelector(raw: JsonValue): AggregationSelector {
  const selector = parsed(raw);
  return {
    matches: (labels) => selector?.matches(labels) ?? false,
    requirementCount: selector?.requirements.length ?? 0,
    cost: selectorParseCost + valueCount(raw) * 4,
  };
}

function valueCount(raw: JsonValue): number {
  const expressions = isJsonObject(raw) ? raw["matchExpressions"] : undefined;
  if (!Array.isArray(expressions)) return 0;
  return (expressions as readonly JsonValue[]).reduce<number>((sum, expression) => {
    const values = isJsonObject(expression) ? expression["values"] : undefined;
    return sum + (Array.isArray(values) ? values.length : 0);
  }, 0);
}

/** An invalid selector selects nothing. */
function parsed(raw: JsonValue): LabelSelector | undefined {
  try {
    return selectorFromLabelSelectorObject(raw as LabelSelectorObject);
  } catch (error) {
    if (error instanceof SelectorSyntaxError) return undefined;
    throw error;
  }
}
