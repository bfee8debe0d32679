export { type FieldError, fieldError, formatFieldError } from "./field-error.ts";
export { quote } from "./quote.ts";
export { errorsMax, errorsTextMax, shownText, shownTextMax } from "./shown-text.ts";
export {
  aggregate,
  formatGroupResource,
  type GroupResource,
  isStatusError,
  reportedErrors,
  type Status,
  type StatusCause,
  StatusError,
  type StatusReason,
  statusError,
} from "./status-error.ts";
