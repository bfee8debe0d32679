/** Label selectors of stored objects, each parsed once. */
import {
  type LabelSelector,
  type LabelSelectorObject,
  selectorFromLabelSelectorObject,
} from "@kcp-ts/machinery/selectors";

const selectors = new WeakMap<LabelSelectorObject, LabelSelector>();

/** The schema of stored objects guarantees that their selectors are valid. */
export function selectorOf(object: LabelSelectorObject): LabelSelector {
  let selector = selectors.get(object);
  if (selector === undefined) {
    selector = selectorFromLabelSelectorObject(object);
    selectors.set(object, selector);
  }
  return selector;
}
