/** A type that is its base at run time and cannot be mixed up with it at compile time. */
export type Brand<Base, Name extends string> = Base & { readonly __brand: Name };
