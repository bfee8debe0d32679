#!/usr/bin/env -S node --max-semi-space-size=16
// The nursery: what a request allocates is garbage when it is answered, and is not copied. What is not is copied at each collection, for which everybody
// waits: the larger the nursery, the longer (ADR 0038).
import { programs } from "./bundle.mjs";

await programs.main(process.argv);
