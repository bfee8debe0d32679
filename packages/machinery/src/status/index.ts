export {
  type FieldError,
  type FieldErrorType,
  fieldError,
  formatFieldError,
} from "./field-error.ts";
export { quote } from "./quote.ts";
export { errorsMax, errorsTextMax, shownText, shownTextMax } from "./shown-text.ts";
export {
  aggregate,
  formatGroupKind,
  formatGroupResource,
  type GroupKind,
  type GroupResource,
  isStatusError,
  reportedErrors,
  type Status,
  type StatusCause,
  type StatusDetails,
  StatusError,
  type StatusReason,
  statusError,
} from "./status-error.ts";
