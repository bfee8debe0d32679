#!/usr/bin/env -S node --max-semi-space-size=32
// A larger nursery: what a request allocates is garbage when it is answered, and is not copied (a tenth of what a create costs).
import { programs } from "./bundle.mjs";

await programs.main(process.argv);
