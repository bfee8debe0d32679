export {
  escapeFieldValue,
  type FieldRequirement,
  type FieldSelector,
  parseFieldSelector,
} from "./field-selector.ts";
export type { LabelOperator, Labels } from "./label-requirement.ts";
export {
  everything,
  type LabelSelector,
  type LabelSelectorObject,
  parseLabelSelector,
  selectorFromLabelSelectorObject,
} from "./label-selector.ts";
export {
  SelectorSyntaxError,
  selectorRequirementsMax,
  selectorTextBytesMax,
} from "./syntax-error.ts";
