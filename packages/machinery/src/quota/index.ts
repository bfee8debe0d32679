/** What objects use of quotas, for the gate that charges them and the loop that counts again. */
export {
  type Amounts,
  addAmounts,
  formatAmount,
  type MutableAmounts,
  minus,
  objectAt,
  objectsAt,
  parseAmount,
  parseAmounts,
  plus,
  zero,
} from "./amounts.ts";
export {
  countNames,
  isMeasuredBy,
  isObjectCount,
  type MeasuredResource,
  measuredBy,
} from "./measured-names.ts";
export { podAmounts } from "./pod-amounts.ts";
export { hasScopes, isTerminatingPod, matchesScopes } from "./scopes.ts";
export { missingOfPod, usageOf } from "./usage.ts";
