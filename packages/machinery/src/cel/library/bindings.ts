/** `cel.bind`: a local name for a value. Kubernetes does not offer it. */
import type { Library } from "../check/environment.ts";
import { bindingMacros } from "../syntax/binding-macros.ts";

export const bindingsLibrary: Library = { macros: bindingMacros };
