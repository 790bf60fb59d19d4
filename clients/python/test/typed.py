"""A user's program that both type checkers accept in their strictest mode."""

from relaypdf import AsyncRelay, FileInfo, Job, Relay, etag, types, verify


def sync(relay: Relay, body: bytes) -> FileInfo:
    options: types.PdfOptions = {"format": "A4", "margin": {"top": "20mm", "bottom": 10}}
    fields: types.PdfCreateInput = {"html": "<p>", "options": options, "filename": "a.pdf"}
    info: FileInfo = relay.pdf.create(**fields, idempotency_key="order-1", max_charge=5000).save("a.pdf")
    job: Job = relay.pdf.merge(files=[{"file": b"%PDF", "filename": "a.pdf"}, {"fileId": info.id}]).start().wait(print)
    job.save("b.pdf")

    pages: int = relay.pdf.info(fileId=info.id).json()["pageCount"]
    relay.pdf.overlay(fileId=info.id, overlay={"fileId": info.id}, from_=f"1-{pages}").bytes()
    relay.pdf.rotate(fileId=info.id, degrees=90).url()["url"].upper()
    words: list[types.ReadPage] = relay.pdf.ocr(fileId=info.id, output="text").json()["pages"]
    start: str = relay.billing.usage_get(from_="2026-01-01T00:00:00Z")["from"]

    for entry in relay.jobs.list(status="failed"):
        relay.jobs.get(entry["id"])["status"].upper()
    template: types.TemplateRecord = relay.templates.create(name=start, html=str(words))
    relay.templates.versions_get(template["id"], 1, timeout=30)["html"].upper()
    relay.templates.update(template["id"], if_match=etag(template), html="<p>")
    relay.pdf.bulk(templateId="letter", records=[{"name": "Ada"}]).save("letters.zip", progress=print)
    price: int = relay.pdf.bulk(templateId="letter", records=[], quote=True).json()["amountMicrodollars"]
    upload: types.Upload = relay.files.upload("a.pdf")

    event = verify(body, {"Service-Signature": f"t={price}"}, upload["id"])
    if event["type"] == "job.completed":
        event["data"]["status"].upper()
    return info


async def asynchronous(relay: AsyncRelay) -> None:
    info: FileInfo = await relay.pdf.create(html="<p>").save("a.pdf")
    result: types.PdfInfoResult = await relay.pdf.info(fileId=info.id)
    async for file in relay.files.list(limit=result["pageCount"]):
        await relay.files.delete(file["id"])
    (await (await relay.pdf.text(fileId=info.id).start()).wait(print, timeout=60)).state["status"].upper()
