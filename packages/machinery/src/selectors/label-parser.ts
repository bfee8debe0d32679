/**
 * The grammar of label selectors: requirements joined by commas.
 *
 *     [!] KEY | KEY (=|==|!=|>|<) VALUE | KEY (in|notin) "(" VALUE {"," VALUE} ")"
 *
 * `in` and `notin` are operators only where an operator is due; `in in (in)` is a selector.
 */
import { formatFieldError } from "../status/index.ts";
import {
  keyErrors,
  type LabelOperator,
  type LabelRequirement,
  newLabelRequirement,
} from "./label-requirement.ts";
import { type LabelToken, type LabelTokenKind, scanLabelSelector } from "./label-scanner.ts";
import { SelectorSyntaxError, selectorRequirementsMax } from "./syntax-error.ts";

export function parseLabelRequirements(text: string): LabelRequirement[] {
  return new LabelParser(scanLabelSelector(text)).parse();
}

const binaryOperators = new Map<LabelTokenKind, LabelOperator>([
  ["in", "in"],
  ["notin", "notin"],
  ["=", "="],
  ["==", "=="],
  ["!=", "!="],
  [">", "gt"],
  ["<", "lt"],
]);

class LabelParser {
  readonly #tokens: readonly LabelToken[];
  #position = 0;

  constructor(tokens: readonly LabelToken[]) {
    this.#tokens = tokens;
  }

  parse(): LabelRequirement[] {
    const requirements: LabelRequirement[] = [];
    if (this.#peekKind() === "end") return requirements;
    if (!this.#startsRequirement())
      throw found(this.#peek(), ", expected: !, identifier, or 'end of string'");
    for (;;) {
      if (requirements.length === selectorRequirementsMax)
        throw new SelectorSyntaxError(
          `a selector may have at most ${selectorRequirementsMax} requirements`,
        );
      requirements.push(this.#wrappedRequirement());
      const next = this.#take();
      if (next.kind === "end") return requirements;
      if (next.kind !== ",") throw found(next, ", expected: ',' or 'end of string'");
      if (!this.#startsRequirement()) throw found(this.#peek(), ", expected: identifier after ','");
    }
  }

  #wrappedRequirement(): LabelRequirement {
    try {
      return this.#requirement();
    } catch (error) {
      if (!(error instanceof SelectorSyntaxError)) throw error;
      throw new SelectorSyntaxError(`unable to parse requirement: ${error.message}`);
    }
  }

  #requirement(): LabelRequirement {
    const isNegated = this.#peekKind() === "!";
    if (isNegated) this.#take();
    const key = this.#key();
    if (isNegated) return newLabelRequirement(key, "!", []);
    const next = this.#peekKind();
    if (next === "end" || next === ",") return newLabelRequirement(key, "exists", []);
    const token = this.#take();
    const operator = binaryOperators.get(token.kind);
    if (operator === undefined) throw found(token, ", expected: in, notin, =, ==, !=, gt, lt");
    const values =
      operator === "in" || operator === "notin" ? this.#valueSet() : [this.#exactValue()];
    return newLabelRequirement(key, operator, values);
  }

  #key(): string {
    const token = this.#take();
    if (valueKind(token) !== "identifier") throw found(token, ", expected: identifier");
    // The field is Go's empty path; clients have seen this text for years.
    for (const error of keyErrors("<nil>", token.text))
      throw new SelectorSyntaxError(formatFieldError(error));
    return token.text;
  }

  #exactValue(): string {
    const next = this.#peekKind();
    if (next === "end" || next === ",") return "";
    const token = this.#take();
    if (valueKind(token) !== "identifier") throw found(token, ", expected: identifier");
    return token.text;
  }

  /**
   * The values between the parentheses, sorted and without repeats; a gap between commas is the
   * empty value.
   */
  #valueSet(): string[] {
    const open = this.#take();
    if (open.kind !== "(") throw found(open, " expected: '('");
    const values = new Set<string>();
    let isValueDue = true;
    if (!["identifier", ",", ")"].includes(this.#peekKind()))
      throw found(this.#peek(), ", expected: ',', ')' or identifier");
    for (;;) {
      const token = this.#take();
      const kind = valueKind(token);
      if (kind === "identifier" && isValueDue) {
        values.add(token.text);
        isValueDue = false;
      } else if (kind === "," || kind === ")") {
        if (isValueDue) values.add("");
        if (kind === ")") return [...values].sort();
        isValueDue = true;
      } else {
        throw found(
          token,
          isValueDue ? ", expected: ',', or identifier" : ", expected: ',' or ')'",
        );
      }
    }
  }

  #startsRequirement(): boolean {
    const kind = this.#peekKind();
    return kind === "identifier" || kind === "!";
  }

  #peek(): LabelToken {
    return this.#tokens[this.#position] as LabelToken;
  }

  #peekKind(): LabelTokenKind {
    return valueKind(this.#peek());
  }

  /** The end is never passed: every rule that meets it returns or throws. */
  #take(): LabelToken {
    return this.#tokens[this.#position++] as LabelToken;
  }
}

function valueKind({ kind }: LabelToken): LabelTokenKind {
  return kind === "in" || kind === "notin" ? "identifier" : kind;
}

function found(token: LabelToken, expectation: string): SelectorSyntaxError {
  return new SelectorSyntaxError(`found '${token.text}'${expectation}`);
}
