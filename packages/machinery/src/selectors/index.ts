export {
  escapeFieldValue,
  type FieldRequirement,
  type FieldSelector,
  parseFieldSelector,
} from "./field-selector.ts";
export type { LabelOperator, LabelRequirement, Labels } from "./label-requirement.ts";
export {
  everything,
  type LabelSelector,
  type LabelSelectorExpression,
  type LabelSelectorObject,
  parseLabelSelector,
  selectorFromLabelSelectorObject,
} from "./label-selector.ts";
export {
  SelectorSyntaxError,
  selectorRequirementsMax,
  selectorTextBytesMax,
} from "./syntax-error.ts";
