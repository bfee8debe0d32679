/** Label selectors of stored objects, read once each. */
import {
  type LabelSelector,
  type LabelSelectorObject,
  selectorFromLabelSelectorObject,
} from "@kcp-ts/machinery/selectors";

const selectors = new WeakMap<LabelSelectorObject, LabelSelector>();

/** Those of stored objects can be read: their schema sees to it. */
export function selectorOf(object: LabelSelectorObject): LabelSelector {
  let selector = selectors.get(object);
  if (selector === undefined) {
    selector = selectorFromLabelSelectorObject(object);
    selectors.set(object, selector);
  }
  return selector;
}
