"""A user's program with an error of types in each line that ends with #."""

from relaypdf import AsyncRelay, Relay, types


def sync(relay: Relay) -> None:
    relay.pdf.create(htlm="<p>")  #
    relay.pdf.create(html="<p>", options={"fromat": "A4"})  #
    relay.pdf.create(html="<p>", options={"format": 4})  #
    relay.pdf.create(html="<p>", response="url")  #
    relay.pdf.creat(html="<p>")  #
    relay.pdf.rotate(fileId="file_1", degrees=45)  #
    relay.pdf.rotate(fileId="file_1")  #
    relay.pdf.create(html="<p>").json()  #
    relay.pdf.info(fileId="file_1").save("a.pdf")  #
    relay.pdf.info(fileId="file_1").json()["pages"].upper()  #
    relay.jobs.list(status="done")  #
    relay.files.upload(7)  #
    relay.pdf.bulk(templateId="letter").url()  #
    relay.templates.delete("letter", if_match="x")  #
    fields: types.BarcodesCreateInput = {"type": "qr"}  #
    relay.barcodes.create(**fields)


async def asynchronous(relay: AsyncRelay) -> None:
    await relay.templates.create(nmae="a")  #
    (await relay.pdf.info(fileId="file_1"))["pagecount"]  #
