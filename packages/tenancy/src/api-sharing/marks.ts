/** What the system keeps on every binding. */

/** Says which export it is to, for selectors. */
export const exportLabel = "internal.apis.kcp.io/export";

/** Holds a binding back until the last of the objects that it brought is gone. */
export const bindingFinalizer = "apis.kcp.io/apibinding-finalizer";
