// Pictures of pages: four widths, two themes.
import { mkdir } from "node:fs/promises";
import { newPage } from "./browser.mjs";
import { visit } from "./checks.mjs";

const SIZES = [[360, 740], [768, 1024], [1280, 900], [1680, 1050]];

/** Makes the pictures of a page, as FOLDER/NAME-WIDTH-THEME.png. */
export async function takePictures(world, spec, folder) {
  await mkdir(folder, { recursive: true });
  for (const scheme of ["light", "dark"]) {
    for (const size of SIZES) {
      const page = await newPage(world, { session: spec.session, scheme, size });
      await visit(page, spec);
      await spec.prepare?.(page);
      await page.screenshot({ path: `${folder}/${spec.name.replaceAll(/[^a-z0-9]+/gi, "-")}-${size[0]}-${scheme}.png`, fullPage: size[0] !== 1680 });
      await page.context().close();
    }
  }
}
