/** Labels and finalizers that the system maintains on every APIBinding. */

/** The label with the hash of a binding's export, for selectors. */
export const exportLabel = "internal.apis.kcp.io/export";

/** The finalizer that keeps a binding until the last object of its APIs is deleted. */
export const bindingFinalizer = "apis.kcp.io/apibinding-finalizer";
